//! The tables that a fill on a GPU reads and the matrix and residual that it overwrites.

use super::CudaGiven;
use crate::contraction::Sum;
use crate::element::DIM;
use crate::element::equations::Heat;
use crate::error::check_at_least;
use crate::graph::{ElemGraph, with_positions};
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory};
use crate::sparse::RowLayout;
use crate::{Error, Result};

/// Stored element matrices and residuals, elements side by side.
#[derive(Clone, Copy, Debug)]
pub struct ElementMatrices<'a> {
    /// `[i * nodes_per_elem + j, elem]`; with `symmetric` only entries with i <= j, `[packed(i, j), elem]`, row by row.
    pub matrices: &'a CudaArray<f64>,
    /// `[i, elem]`.
    pub residuals: &'a CudaArray<f64>,
    /// Whether only half of each symmetric matrix is stored.
    pub symmetric: bool,
}

/// The arrays that an equation is evaluated on.
#[derive(Clone, Copy, Debug)]
pub struct EquationInput<'a> {
    /// Nodes of the elements; the assembly's table has their dofs.
    pub elem_node: &'a ElemNode<CudaMemory>,
    /// Coordinates, `[node][3]`.
    pub node_coord: &'a CudaArray<[f64; DIM]>,
    /// Unknowns, `[D node + c]`.
    pub solution: &'a CudaArray<f64>,
    /// Given fields of an [`EquationAt`](crate::element::equations::EquationAt), else none.
    pub given: &'a [CudaGiven<'a>],
}

/// `Heat` of `kernels/element.cuh`.
impl From<Heat> for Argument {
    fn from(heat: Heat) -> Self {
        heat.conductivity.into()
    }
}

/// Tables that a fill reads and sums that it writes, of checked lengths.
pub(super) struct SystemView<'a> {
    pub space: &'a Cuda,
    pub places: &'a ElemGraph<CudaMemory>,
    pub layout: RowLayout<'a>,
    pub values: &'a mut CudaArray<f64>,
    pub residual: &'a mut CudaArray<f64>,
    /// Whether results overwrite values and residual or are added.
    pub sum: Sum,
}

impl<'a> SystemView<'a> {
    pub(super) fn elem_node(&self) -> &'a ElemNode<CudaMemory> {
        self.places.elem_node()
    }

    /// Zeroes values and residual, unless they are added to.
    pub(super) fn clear(&mut self) -> Result<()> {
        if self.sum == Sum::Into {
            return Ok(());
        }
        self.space.fill_bytes(self.values, 0)?;
        crate::blas::Blas::fill(self.space, self.layout.rows, 0.0, self.residual)
    }

    /// As [`positions`], of the system's table.
    pub(super) fn positions(&self) -> (Argument, usize) {
        positions(self.places)
    }
}

/// Returns the positions and the number of their integer type: 0 for `u8`, 1 for `u16`, 2 for `u32`.
pub(super) fn positions(places: &ElemGraph<CudaMemory>) -> (Argument, usize) {
    positions_from(places, 0)
}

/// As [`positions`], from number `first` on.
pub(super) fn positions_from(places: &ElemGraph<CudaMemory>, first: usize) -> (Argument, usize) {
    let kind = places.position_bytes() as usize / 2;
    (with_positions!(places.positions(), positions => Argument::from_item(positions, first)), kind)
}

/// Checks that the arrays are as long as their owners say.
pub(super) fn check_tables(name: &'static str, places: &ElemGraph<CudaMemory>, layout: RowLayout<'_>) -> Result<()> {
    let elem_node = places.elem_node();
    elem_node.check_distinct(name)?;
    let nodes = elem_node.nodes_per_elem();
    let slots = elem_node.elem_count() * nodes;
    let positions = with_positions!(places.positions(), positions => positions.len());
    check_at_least(name, "elem_node", elem_node.nodes().len(), slots)?;
    check_at_least(name, "graph (positions)", positions, slots * nodes)?;
    check_at_least(name, "graph (row_map)", layout.starts.len(), layout.starts_len())
}

/// Bytes of a position of each type.
pub(super) const WIDTHS: [u32; 3] = [1, 2, 4];

/// Returns the number of blocks if a launch can have so many.
pub(super) fn blocks(count: usize) -> Result<usize> {
    const MOST: usize = i32::MAX as usize;
    if count <= MOST {
        return Ok(count);
    }
    let (needed, limit) = (format!("{count} blocks"), format!("{MOST}"));
    Err(Error::TooLarge { what: "a launch on the GPU".into(), needed, limit })
}
