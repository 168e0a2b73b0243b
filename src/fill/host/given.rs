//! Given fields of an equation: where their values come from, and their values at a point.

use crate::Result;
use crate::element::BasisTables;
use crate::error::check_length;
use crate::mesh::ElemNode;

/// A given field: a constant, or values of nodes, elements or quadrature points.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    at: Place,
    values: &'a [f64],
    /// Values from one place to the next, and the first one.
    stride: usize,
    first: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Everywhere,
    Nodes,
    Elements,
    Points,
}

impl<'a> Given<'a> {
    /// One value everywhere.
    pub fn constant(value: &'a f64) -> Self {
        Given { at: Place::Everywhere, values: std::slice::from_ref(value), stride: 1, first: 0 }
    }

    /// A value per node, interpolated as the unknowns are.
    pub fn nodes(values: &'a [f64]) -> Self {
        Given { at: Place::Nodes, values, stride: 1, first: 0 }
    }

    /// Component `c` of unknowns `[node][component]`, such as those of an earlier time step.
    pub fn component<const D: usize>(unknowns: &'a [[f64; D]], c: usize) -> Self {
        Given { at: Place::Nodes, values: unknowns.as_flattened(), stride: D, first: c }
    }

    /// A value per element.
    pub fn elements(values: &'a [f64]) -> Self {
        Given { at: Place::Elements, values, stride: 1, first: 0 }
    }

    /// A value per quadrature point, `[element][point]`.
    pub fn points(values: &'a [f64]) -> Self {
        Given { at: Place::Points, values, stride: 1, first: 0 }
    }

    /// Refuses a field of another length than the mesh needs.
    pub(in crate::fill::host) fn check(
        &self,
        name: &'static str,
        table: &ElemNode,
        tables: &BasisTables,
    ) -> Result<()> {
        let (what, places) = match self.at {
            Place::Everywhere => ("given (a constant)", 1),
            Place::Nodes => ("given (a value per node)", table.node_count()),
            Place::Elements => ("given (a value per element)", table.elem_count()),
            Place::Points => ("given (a value per point)", table.elem_count() * tables.weights.len()),
        };
        check_length(name, what, self.values.len(), self.stride * places)?;
        check_length(name, "given (component)", self.first.min(self.stride - 1), self.first)
    }

    /// Value of a field of nodes.
    fn of(&self, place: usize) -> f64 {
        self.values[self.stride * place + self.first]
    }

    /// Gradient and value at point `p` of an element with these nodes; `slopes` are physical gradients of the basis.
    #[inline(always)]
    pub(in crate::fill::host) fn at(
        &self,
        (elem, nodes): (usize, &[u32]),
        (p, count): (usize, usize),
        phi: &[f64],
        slope: impl Fn(usize, usize) -> f64,
    ) -> [f64; 4] {
        match self.at {
            Place::Everywhere => [0.0, 0.0, 0.0, self.of(0)],
            Place::Elements => [0.0, 0.0, 0.0, self.of(elem)],
            Place::Points => [0.0, 0.0, 0.0, self.of(count * elem + p)],
            Place::Nodes => {
                let mut sums = [0.0; 4];
                for (m, (&node, phi)) in nodes.iter().zip(phi).enumerate() {
                    let value = self.of(node as usize);
                    for axis in 0..3 {
                        sums[axis] += value * slope(m, axis);
                    }
                    sums[3] += value * phi;
                }
                sums
            }
        }
    }
}
