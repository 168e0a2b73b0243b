//! Strategy `gather` on a GPU: element matrices are stored, elements side by side, then each row sums its own: one thread per row of
//! elements with eight nodes, two or more threads per row of others.
//!
//! Bitwise reproducible: elements ascend in each row. A block sums its rows in shared memory, in the layout of the matrix, so that
//! each value is written once and stores coalesce; longer rows are summed in parts, and those that exceed shared memory in device
//! memory. Computed element matrices are stored in [`windows`](super::windows), a part of the mesh at a time.

use super::system::{ElementMatrices, SystemView};
use super::windows::{Batch, ROWS, Reach, Windows, blocks_of};
use crate::Result;
use crate::element::HEX8_NODES;
use crate::fill::kernel_files::FILL;
use crate::graph::NodeElem;
use crate::mesh::{ElemNode, Sizes};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::RowLayout;

/// Threads per block of the set-up and of rows that are summed alone, as in the kernels.
const THREADS: u32 = 256;
/// Threads that sum a row alone.
const WARP: usize = 32;
/// Threads per row of elements with other than eight nodes, as in the kernels.
const TEAM: usize = 2;
/// Most bytes of shared memory of a block: with eight nodes, and with others, where four blocks share a multiprocessor of an H200.
const SHARED: usize = 96 << 10;
const SHARED_ANY: usize = 56 << 10;
/// Lists of each row's elements, and computed element matrices, which the first call allocates.
#[derive(Debug)]
pub(super) struct Gather {
    lists: NodeElem<CudaMemory>,
    /// Number of matrix entries that a block's shared memory holds.
    room: u32,
    /// `None` where the matrices of all elements are stored at once.
    windows: Option<Windows>,
    arrays: Option<Arrays>,
}

/// `[entry, column]` and `[i, column]`; the entries are packed(i, j) or n i + j for n rows.
#[derive(Debug)]
pub(super) struct Arrays {
    pub matrices: CudaArray<f64>,
    pub residuals: CudaArray<f64>,
}

impl Gather {
    /// Lists the elements of each row and plans windows of `step` elements.
    pub(super) fn new(
        space: &Cuda,
        step: usize,
        elem_node: &ElemNode<CudaMemory>,
        layout: RowLayout<'_>,
    ) -> Result<Self> {
        let RowLayout { rows, starts, shift, .. } = layout;
        let lists = NodeElem::on_device(space, elem_node, rows)?;
        let is_any = elem_node.nodes_per_elem() != HEX8_NODES;
        let limit = space.shared_limit()?.min(if is_any { SHARED_ANY } else { SHARED }) / size_of::<f64>();
        // Blocks of eight-node elements beyond the limit are summed in device memory, those of others in parts.
        let counted = if is_any { u32::MAX as usize } else { limit };
        let mut largest = space.zeros::<u32>(1)?;
        let grid = Grid::cover(blocks_of(rows), THREADS);
        space.launch(
            &FILL,
            "largest_span",
            grid,
            arguments![rows as u64, counted as u64, shift, starts, &mut largest],
        )?;
        let mut room = [0];
        space.read(&largest, &mut room)?;
        let windows = if step < elem_node.elem_count() { plan(space, step, elem_node, &lists)? } else { None };
        Ok(Gather { lists, room: room[0].min(limit as u32), windows, arrays: None })
    }

    /// Returns the number of element matrices that are stored at once.
    pub(super) fn capacity(&self, elems: usize) -> usize {
        self.windows.as_ref().map_or(elems, |windows| windows.capacity)
    }

    /// Sums element matrices of `entries` and `rows` stored items, which `compute` stores, batch by batch.
    pub(super) fn computed(
        &mut self,
        mut system: SystemView<'_>,
        [entries, rows]: [usize; 2],
        symmetric: bool,
        mut compute: impl FnMut(Batch, &mut Arrays) -> Result<()>,
    ) -> Result<()> {
        let (space, elems) = (system.space, system.elem_node().elem_count());
        let capacity = self.capacity(elems);
        // Taken out while `self` is borrowed, and put back below.
        let mut arrays = Arrays::of(self.arrays.take(), space, [entries, rows], capacity)?;
        let done = match &self.windows {
            None => {
                let batch = Batch::whole(elems);
                compute(batch, &mut arrays).and_then(|()| self.blocks(&mut system, batch, arrays.view(symmetric), None))
            }
            Some(windows) => windows.batches().enumerate().try_for_each(|(step, batch)| {
                compute(batch, &mut arrays)?;
                let stored = arrays.view(symmetric);
                self.blocks(&mut system, batch, stored, Some(windows.blocks.part(step)))?;
                let (list, count) = windows.rows.part(step);
                let names = ["gather_listed_u8", "gather_listed_u16", "gather_listed_u32"];
                self.launch(&mut system, batch, stored, names, count, list, Grid::cover(count * WARP, THREADS))
            }),
        };
        self.arrays = Some(arrays);
        done
    }

    /// Sums stored matrices of all elements.
    pub(super) fn matrices(&self, mut system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
        let batch = Batch::whole(system.elem_node().elem_count());
        self.blocks(&mut system, batch, elements, None)
    }

    /// Sums the rows of the blocks of a list, with their number, or of all blocks without a list.
    fn blocks(
        &self,
        system: &mut SystemView<'_>,
        batch: Batch,
        elements: ElementMatrices<'_>,
        list: Option<(Argument, usize)>,
    ) -> Result<()> {
        let RowLayout { rows, shift, halves, .. } = system.layout;
        let (list, count) = list.unwrap_or((Argument::NULL, blocks_of(rows)));
        let nn = system.elem_node().nodes_per_elem();
        let symmetric = |of_u8| [of_u8, "gather_symmetric8_u16", "gather_symmetric8_u32"];
        let full = |of_u8| [of_u8, "gather_full8_u16", "gather_full8_u32"];
        let names = match (nn, elements.symmetric, shift, halves) {
            (HEX8_NODES, true, 0, _) => symmetric("gather_symmetric8_u8"),
            (HEX8_NODES, true, _, false) => symmetric("sliced_symmetric8_u8"),
            (HEX8_NODES, true, _, true) => symmetric("halved_symmetric8_u8"),
            (HEX8_NODES, false, 0, _) => full("gather_full8_u8"),
            (HEX8_NODES, false, _, false) => full("sliced_full8_u8"),
            (HEX8_NODES, false, _, true) => full("halved_full8_u8"),
            _ => ["gather_any_u8", "gather_any_u16", "gather_any_u32"],
        };
        let threads = if nn == HEX8_NODES { ROWS } else { TEAM * ROWS };
        let grid = Grid::new(count, threads as u32).shared(self.room as usize * size_of::<f64>());
        self.launch(system, batch, elements, names, rows, list, grid)
    }

    /// Launches the kernel of the positions' type. `rows` is the number of all rows, or of those in the list.
    fn launch(
        &self,
        system: &mut SystemView<'_>,
        batch: Batch,
        elements: ElementMatrices<'_>,
        names: [&'static str; 3],
        rows: usize,
        list: Argument,
        grid: Grid,
    ) -> Result<()> {
        let (nn, (positions, kind)) = (system.elem_node().nodes_per_elem() as u32, system.positions());
        let (slot_map, slots, base) = (self.lists.row_map(), self.lists.slots_array(), batch.base() as u32);
        let RowLayout { starts, shift, .. } = system.layout;
        #[rustfmt::skip]
        let arguments = arguments![
            rows as u64, batch.capacity as u64, nn, self.room, u32::from(elements.symmetric), base, shift, list, slot_map, slots,
            positions, starts, elements.matrices, elements.residuals, &mut *system.values, &mut *system.residual,
        ];
        system.space.launch(&FILL, names[kind], grid, arguments)
    }
}

/// Number of elements whose matrices are stored at once, where `step` are computed at a time.
pub(super) fn stored_elems(sizes: &Sizes, step: u64) -> u64 {
    const BLOCK: u64 = ROWS as u64;
    let &Sizes { elems, layer: [x, y], ghosts, .. } = sizes;
    // From the first element of a block's first row to the last of its last row. Few rows of the shell fill a layer.
    let layers = if ghosts > 0 { 2 + BLOCK / (x + y).max(1) } else { 1 };
    let reach = layers * x * y + x + BLOCK;
    if step >= elems || reach >= step.max(elems / 8) { elems } else { elems.min(step + reach) }
}

impl Arrays {
    /// The arrays of an earlier call if they are as long, or new ones, of `columns` elements.
    pub(super) fn of(kept: Option<Self>, space: &Cuda, sizes: [usize; 2], columns: usize) -> Result<Self> {
        let [entries, rows] = sizes.map(|size| size.saturating_mul(columns));
        match kept.filter(|arrays| arrays.matrices.len() == entries) {
            Some(arrays) => Ok(arrays),
            None => Ok(Arrays { matrices: space.unfilled(entries)?, residuals: space.unfilled(rows)? }),
        }
    }

    pub(super) fn view(&self, symmetric: bool) -> ElementMatrices<'_> {
        ElementMatrices { matrices: &self.matrices, residuals: &self.residuals, symmetric }
    }
}

/// Plans windows of `step` elements from the lists of each row's elements; waits for the reach of the blocks.
fn plan(
    space: &Cuda,
    step: usize,
    elem_node: &ElemNode<CudaMemory>,
    lists: &NodeElem<CudaMemory>,
) -> Result<Option<Windows>> {
    let (elems, rows, nn) = (elem_node.elem_count(), lists.rows(), elem_node.nodes_per_elem() as u32);
    let reach = |len: usize| -> Result<_> { Ok((space.unfilled::<u32>(len)?, space.unfilled::<u32>(len)?)) };
    let download = |(lowest, highest): (CudaArray<u32>, CudaArray<u32>)| -> Result<Reach> {
        Ok(Reach { lowest: space.download(&lowest)?, highest: space.download(&highest)? })
    };
    let (slot_map, slots, count) = (lists.row_map(), lists.slots_array(), blocks_of(rows));
    let mut of_blocks = reach(count)?;
    let arguments = arguments![rows as u64, nn, slot_map, slots, &mut of_blocks.0, &mut of_blocks.1];
    space.launch(&FILL, "reach_of_blocks", Grid::new(count, ROWS as u32), arguments)?;
    let rows_of = |blocks: &[u32]| {
        let (listed, mut of_rows) = (space.upload(blocks)?, reach(blocks.len() * ROWS)?);
        let arguments = arguments![rows as u64, nn, &listed, slot_map, slots, &mut of_rows.0, &mut of_rows.1];
        space.launch(&FILL, "reach_of_rows", Grid::new(blocks.len(), ROWS as u32), arguments)?;
        download(of_rows)
    };
    let plan = Windows::plan((elems, rows, step), &download(of_blocks)?, rows_of)?;
    plan.map(|plan| plan.upload(space)).transpose()
}
