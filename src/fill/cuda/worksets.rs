//! Element matrices by the nine contractions over worksets of cells: launches of `kernels/intrepid.cu`, then of [`contraction`].
//!
//! ```text
//! workset_operands      gradients (C,F,P,D), and for each component: slopes (C,R,P,D), reactions (C,R,P), fluxes (C,P,D), sources (C,P)
//! field_field_vector    matrix (C,F,R)   =  gradients, slopes            for each component of the test function
//! field_field_scalar    matrix (C,F,R)  +=  phi (F,P), reactions         if a source depends on the unknowns
//! data_field_vector     residual (C,F)   =  fluxes, gradients
//! data_field_scalar     residual (C,F)  +=  sources, phi (F,P)
//! ```
//! C: cells of a workset, F: nodes, R: nodes times unknowns per node, P: points, D: axes. The basis values phi are the same for all
//! cells: their stride is 0. The contractions write the stored matrices, all F x R entries, that the strategies sum. Composition:
//! Intrepid's HGRAD transform and weak forms.
//!
//! Bound, heat on hex8, per cell: 3840 bytes of operands written and 5376 read (gradients twice), 1728 bytes of matrix and residual
//! written, read and written again: 10 944 bytes, from L2 where a workset fits, and 704 of them to device memory in any case. About
//! 10 000 operations, 4608 of them in the contractions. Every workset costs 5 launches.
//!
//! [`contraction`]: crate::contraction

use super::EquationText;
use super::element_shape::ElementShape;
use super::gather::Arrays;
use super::system::{EquationInput, blocks};
use crate::Result;
use crate::contraction::{
    Contraction, Sum, Variant, With, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector,
};
use crate::element::DIM;
use crate::fill::kernel_files::INTREPID;
use crate::fill::{ContractionCalls, Workset};
use crate::mesh::Sizes;
use crate::space::cuda::{Argument, Cuda, CudaArray, DeviceView, DeviceViewMut, Grid, arguments};
use crate::space::{ExecutionSpace, Layout};
use std::ops::Range;

/// Threads per block, as in the kernel.
const THREADS: u32 = 128;
/// Bytes of a workset of default size: launches slow down smaller ones (docs/results/2026-11-26-multigrid.md).
const WORKSET_BYTES: usize = 384 << 20;
/// Blocks of a contraction of 8 x 8 nodes that a multiprocessor holds.
const RESIDENT: usize = 3;
/// Minimum number of elements per scatter launch.
const STEP: usize = 1 << 16;
/// Cells of a cache line: worksets of default size hold whole lines.
const LINE: usize = 16;

/// The contractions of an equation on one element type, and the operands of a workset.
#[derive(Debug)]
pub(super) struct Worksets {
    front: String,
    shape: ElementShape,
    /// Whether a source depends on the unknowns.
    has_reactions: bool,
    layout: Layout,
    variant: Variant,
    /// Most cells of a workset.
    cells: usize,
    parameters: CudaArray<f64>,
    tables: CudaArray<f64>,
    /// `[node, point]`.
    phi: CudaArray<f64>,
    /// Gradients, slopes, reactions, fluxes and sources of `room` cells, those of each component of the test function behind each other.
    operands: [CudaArray<f64>; 5],
    room: usize,
    calls: ContractionCalls,
}

/// Elements whose matrices are stored at a time by a fill that adds, where worksets have so many cells.
fn step_of(cells: usize) -> usize {
    cells.max(STEP).next_multiple_of(cells.max(1))
}

/// Most elements whose matrices such a fill stores. A plan rounds the default down to whole waves, which may round a step up.
pub(super) fn stored_elems(workset: Workset, sizes: &Sizes) -> u64 {
    let step = workset.cells.map_or(STEP as u64 + default_or_given(workset, sizes), |cells| step_of(cells) as u64);
    sizes.elems.min(step)
}

/// Bytes of the operands of a workset.
pub(super) fn operand_bytes(workset: Workset, sizes: &Sizes) -> u64 {
    default_or_given(workset, sizes).min(sizes.elems) * cell_bytes(sizes)
}

/// Bytes of the operands of a cell.
fn cell_bytes(&Sizes { nodes, dofs, cubature, .. }: &Sizes) -> u64 {
    8 * cubature * (3 * nodes + 4 * dofs * dofs * nodes + 4 * dofs)
}

/// Most cells of a workset.
fn default_or_given(workset: Workset, sizes: &Sizes) -> u64 {
    workset.cells.map_or(WORKSET_BYTES as u64 / cell_bytes(sizes) + LINE as u64, |cells| cells as u64)
}

impl Worksets {
    /// Prepares worksets for an equation on elements whose tables these are, as `kernels/equation.cu` reads them.
    pub fn new(
        space: &Cuda,
        text: &EquationText,
        shape: ElementShape,
        tables: &[f64],
        workset: Workset,
    ) -> Result<Self> {
        let layout = workset.layout.unwrap_or(Layout::Left);
        let ElementShape { nodes, points, .. } = shape;
        let phi = |m: usize, p: usize| tables[(p * shape.padded() + m) * (DIM + 1) + DIM];
        let phi: Vec<f64> = (0..nodes).flat_map(|m| (0..points).map(move |p| phi(m, p))).collect();
        let mut worksets = Worksets {
            front: text.workset_front(&shape, layout),
            shape,
            has_reactions: text.has_reactions(),
            layout,
            variant: workset.variant,
            cells: 0,
            parameters: space.upload(&text.parameters_on_device())?,
            tables: space.upload(tables)?,
            phi: space.upload(&phi)?,
            operands: zeros(space, [0; 5])?,
            room: 0,
            calls: ContractionCalls::default(),
        };
        worksets.cells = workset.cells.unwrap_or_else(|| worksets.default_cells(space)).max(1);
        Ok(worksets)
    }

    /// Returns the calls of contractions so far.
    pub fn calls(&self) -> ContractionCalls {
        self.calls
    }

    /// Returns the cells of a step of a fill that adds: a workset, or several small ones.
    pub fn step(&self) -> usize {
        step_of(self.cells)
    }

    /// Returns the cells whose operands fill [`WORKSET_BYTES`], as whole waves of blocks.
    fn default_cells(&self, space: &Cuda) -> usize {
        let cells = WORKSET_BYTES / size_of::<f64>() / self.sizes().iter().sum::<usize>();
        let wave = space.device().info().multiprocessors as usize * RESIDENT * THREADS as usize;
        if cells < wave { cells.next_multiple_of(LINE) } else { cells / wave * wave }
    }

    /// Returns the numbers of a cell's gradients, slopes, reactions, fluxes and sources.
    fn sizes(&self) -> [usize; 5] {
        let ElementShape { nodes, points, dofs, .. } = self.shape;
        let columns = dofs * self.shape.rows() * points;
        let reactions = if self.has_reactions { columns } else { 0 };
        [nodes * points * DIM, columns * DIM, reactions, dofs * points * DIM, dofs * points]
    }

    /// Compiles and loads the kernels, which otherwise happens at their first launch: contractions are compiled for their sizes.
    pub fn load(&mut self, space: &Cuda) -> Result<()> {
        space.load_specialised(&INTREPID, &self.front)?;
        let (rows, cells) = (self.shape.rows(), self.cells.min(self.default_cells(space)));
        self.make_room(space, cells)?;
        let mut arrays = Arrays::of(None, space, [rows * rows, rows], cells)?;
        self.contract(space, cells, [0, cells], &mut arrays)
    }

    /// Stores matrices and residuals of elements in columns from `column` on, workset by workset. The caller has checked the input.
    pub fn store(
        &mut self,
        space: &Cuda,
        input: EquationInput<'_>,
        elems: Range<usize>,
        [column, capacity]: [usize; 2],
        arrays: &mut Arrays,
    ) -> Result<()> {
        self.make_room(space, self.cells.min(elems.len().next_multiple_of(LINE)))?;
        for first in elems.clone().step_by(self.cells) {
            let count = self.cells.min(elems.end - first);
            self.evaluate(space, input, first, count)?;
            self.contract(space, count, [column + first - elems.start, capacity], arrays)?;
        }
        Ok(())
    }

    /// Allocates operands of `cells` cells, unless there are as many.
    fn make_room(&mut self, space: &Cuda, cells: usize) -> Result<()> {
        if self.room < cells {
            self.operands = zeros(space, self.sizes().map(|size| size.saturating_mul(cells)))?;
            self.room = cells;
        }
        Ok(())
    }

    /// Evaluates the equation at the points of `count` elements from `first` on.
    fn evaluate(&mut self, space: &Cuda, input: EquationInput<'_>, first: usize, count: usize) -> Result<()> {
        let nodes = Argument::from_item(input.elem_node.nodes(), first * self.shape.nodes);
        let [gradients, slopes, reactions, fluxes, sources] = &mut self.operands;
        #[rustfmt::skip]
        let arguments = arguments![
            count as u64, self.room as u64, nodes, input.node_coord, input.solution, &self.parameters, &self.tables, gradients,
            slopes, reactions, fluxes, sources,
        ];
        let grid = Grid::new(blocks(count.div_ceil(self.shape.group()))?, THREADS);
        space.launch_specialised(&INTREPID, &self.front, "workset_operands", grid, arguments)
    }

    /// Contracts the operands of the first `count` cells into columns from `column` on.
    fn contract(&mut self, space: &Cuda, count: usize, [column, capacity]: [usize; 2], to: &mut Arrays) -> Result<()> {
        let ElementShape { nodes, points, dofs, .. } = self.shape;
        let (rows, layout, with) = (self.shape.rows(), self.layout, With(space, self.variant));
        let (cells, [gradients, slopes, reactions, fluxes, sources]) = (self.room, &self.operands);
        let gradients = &part(gradients, 0, count, [cells, nodes, points, DIM], layout)?;
        let phi = &DeviceView::with_strides(&self.phi, 0, [count, nodes, points], [0, points, 1])?;
        for i in 0..dofs {
            // Rows DOFS m + i, for all nodes m.
            let (first, strides) = (i * rows * capacity + column, [1, dofs * rows * capacity, capacity]);
            let matrix = &mut DeviceViewMut::with_strides(&mut to.matrices, first, [count, nodes, rows], strides)?;
            let slopes = &part(slopes, i, count, [cells, rows, points, DIM], layout)?;
            field_field_vector(&with, gradients, slopes, matrix, Sum::Overwrite)?;
            self.calls.count(Contraction::FieldFieldVector);
            if self.has_reactions {
                let reactions = &part(reactions, i, count, [cells, rows, points], layout)?;
                field_field_scalar(&with, phi, reactions, matrix, Sum::Into)?;
                self.calls.count(Contraction::FieldFieldScalar);
            }
            let (first, strides) = (i * capacity + column, [1, dofs * capacity]);
            let residual = &mut DeviceViewMut::with_strides(&mut to.residuals, first, [count, nodes], strides)?;
            let fluxes = &part(fluxes, i, count, [cells, points, DIM], layout)?;
            data_field_vector(&with, fluxes, gradients, residual, Sum::Overwrite)?;
            self.calls.count(Contraction::DataFieldVector);
            let sources = &part(sources, i, count, [cells, points], layout)?;
            data_field_scalar(&with, sources, phi, residual, Sum::Into)?;
            self.calls.count(Contraction::DataFieldScalar);
        }
        Ok(())
    }
}

/// Allocates arrays of these lengths.
fn zeros(space: &Cuda, lengths: [usize; 5]) -> Result<[CudaArray<f64>; 5]> {
    let [gradients, slopes, reactions, fluxes, sources] = lengths.map(|length| space.zeros(length));
    Ok([gradients?, slopes?, reactions?, fluxes?, sources?])
}

/// Returns the first `count` cells of the array of component `i`, whose extents begin with all cells.
fn part<const R: usize>(
    of: &CudaArray<f64>,
    i: usize,
    count: usize,
    mut extents: [usize; R],
    layout: Layout,
) -> Result<DeviceView<'_, f64, R>> {
    let (first, strides) = (i * extents.iter().product::<usize>(), layout.strides(extents));
    extents[0] = count;
    DeviceView::with_strides(of, first, extents, strides)
}
