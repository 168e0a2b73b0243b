//! Where the values of a given field lie, on hosts and GPUs.

use crate::Result;
use crate::error::check_length;
use crate::mesh::ElemNode;
use crate::space::MemorySpace;

/// Where the values of a given field lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::fill) struct GivenPlace {
    pub at: Place,
    /// Values from one place to the next, and the first one.
    pub stride: usize,
    pub first: usize,
}

/// Kinds of places, numbered as in `kernels/equation_point.cuh`.
#[derive(Clone, Copy, Debug)]
pub(in crate::fill) enum Place {
    Nodes,
    Elements,
    Points,
}

impl GivenPlace {
    /// One value everywhere: that of each element is the first.
    pub const CONSTANT: Self = GivenPlace { at: Place::Elements, stride: 0, first: 0 };
    /// A value per node.
    pub const NODES: Self = Self::of(Place::Nodes);
    /// A value per element.
    pub const ELEMENTS: Self = Self::of(Place::Elements);
    /// A value per quadrature point, `[element][point]`.
    pub const POINTS: Self = Self::of(Place::Points);

    const fn of(at: Place) -> Self {
        GivenPlace { at, stride: 1, first: 0 }
    }

    /// Component `c` of nodes with `dofs` values each.
    pub const fn component(dofs: usize, c: usize) -> Self {
        GivenPlace { at: Place::Nodes, stride: dofs, first: c }
    }

    /// Refuses a field of another length than the mesh needs.
    pub fn check<M: MemorySpace>(
        &self,
        name: &'static str,
        len: usize,
        table: &ElemNode<M>,
        points: usize,
    ) -> Result<()> {
        let (what, places) = match self.at {
            _ if self.stride == 0 => return check_length(name, "given (a constant)", len, 1),
            Place::Nodes => ("given (a value per node)", table.node_count()),
            Place::Elements => ("given (a value per element)", table.elem_count()),
            Place::Points => ("given (a value per point)", table.elem_count() * points),
        };
        check_length(name, what, len, self.stride * places)?;
        check_length(name, "given (component)", self.first.min(self.stride - 1), self.first)
    }
}
