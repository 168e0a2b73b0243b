//! The operator of a matrix in GPU memory, in any format; small systems are solved in one launch of `kernels/cg_at_once.cu`.
//!
//! That is pipelined CG (Ghysels and Vanroose 2014): the iterates of CG, in exact arithmetic, with one synchronisation per
//! iteration instead of three launches. Its recurrences for A r, A p and A A p drift by rounding, so they are formed anew every
//! 32 iterations; the residual follows its own recurrence, as in CG. The number of iterations is CG's within one where the
//! condition is that of a box of elements. For a condition of 3000 it is one more at a tolerance of 1e-8, five more at 1e-10,
//! and close to the last digits it can be many more. So it is used only where launches dominate: where matrix and vectors fit
//! into the shared memories of the GPU, on an H200 up to about 40^3 unknowns of 27 entries. [`Stored::at_once`] turns it off.

use super::CgSlot;
use crate::Result;
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::solve::kernel_files::CG_AT_ONCE;
use crate::solve::krylov::{LinearOperator, MatrixOperator};
use crate::space::cuda::{Grid, arguments};
use crate::space::{Cuda, CudaArray};
use crate::sparse::{DeviceMatrix, DeviceValue, Product, Stored};

/// Most blocks whose sums the kernel reads.
const BLOCKS: usize = 160;
/// Rows of a block, up to which it is a small one.
const FEW: usize = 64;
/// Bytes of shared memory that the kernel has for itself.
const OWN: usize = 1024;
/// Vectors in shared memory and in global memory.
const VECTORS: (usize, usize) = (6, 5);

/// How a small system is laid out over the blocks.
struct Layout {
    kernel: (&'static str, u32),
    blocks: usize,
    /// Entries of a block that fit.
    capacity: usize,
    shared: usize,
}

impl Layout {
    /// `None` where the system does not fit.
    fn new<V: DeviceValue>(space: &Cuda, rows: usize, nnz: usize) -> Result<Option<Self>> {
        let blocks = (space.device().info().multiprocessors as usize).min(BLOCKS).min(rows.div_ceil(32));
        if rows == 0 {
            return Ok(None);
        }
        let share = rows.div_ceil(blocks);
        let (entry, fixed) = (size_of::<V>() + 4, VECTORS.0 * 8 * share + 4 * (share + 1));
        let Some(room) = space.shared_limit()?.checked_sub(OWN + fixed) else { return Ok(None) };
        let capacity = (room / entry).min(nnz);
        // Blocks with more than that read the rest of the matrix from the L2, which is slower and as right.
        if capacity < nnz.min((nnz.div_ceil(blocks) * 11).div_ceil(10)) {
            return Ok(None);
        }
        let kernel = kernel::<V>(share > FEW);
        let shared = fixed + capacity * entry;
        let resident = space.resident_blocks(&CG_AT_ONCE, kernel.0, kernel.1, shared)?;
        Ok((resident >= blocks).then_some(Layout { kernel, blocks, capacity, shared }))
    }
}

/// Kernel and threads per block.
fn kernel<V: DeviceValue>(large: bool) -> (&'static str, u32) {
    match (V::NAME, large) {
        ("f32", false) => ("iterate_f32_256", 256),
        ("f32", true) => ("iterate_f32_1024", 1024),
        (_, false) => ("iterate_f64_256", 256),
        (_, true) => ("iterate_f64_1024", 1024),
    }
}

impl<V: DeviceValue> LinearOperator<Cuda> for Stored<'_, V> {
    fn rows(&self) -> usize {
        self.extents().0
    }

    fn columns(&self) -> usize {
        self.extents().1
    }

    fn apply(&mut self, space: &Cuda, x: &mut CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.spmv(space, 1.0, x, 0.0, y)
    }

    fn apply_dot(
        &mut self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        self.spmv_dot(space, 0..self.extents().0, x, y, sums, slot)
    }

    /// For a single process: the launch has no place for an all-reduce.
    fn cg_at_once(
        &mut self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        r: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
    ) -> Result<bool> {
        // The kernel reads CRS.
        let Some(a) = self.matrix() else { return Ok(false) };
        let (graph, (rows, columns)) = (a.graph(), self.extents());
        if !self.at_once || columns != rows {
            return Ok(false);
        }
        let Some(layout) = Layout::new::<V>(space, rows, graph.nnz())? else { return Ok(false) };
        check_at_least("cg_at_once", "x", x.len(), rows)?;
        check_at_least("cg_at_once", "r", r.len(), rows)?;
        sums.check("cg_at_once", CgSlot::LEN - 1)?;
        let mut vectors = space.unfilled::<f64>(VECTORS.1 * rows)?;
        let mut slots = space.unfilled::<u64>(6 * layout.blocks)?;
        space.fill_bytes(&mut slots, 0xff)?;
        let (name, threads) = layout.kernel;
        let grid = Grid::new(layout.blocks, threads).shared(layout.shared).cooperative();
        let (capacity, rows) = (layout.capacity as u32, rows as u64);
        let (row_map, entries, values) = (graph.row_map(), graph.entries(), a.values());
        let arguments =
            arguments![rows, capacity, row_map, entries, values, x, r, &mut sums.scalars, &mut vectors, &mut slots];
        space.launch(&CG_AT_ONCE, name, grid, arguments)?;
        Ok(true)
    }
}

impl MatrixOperator for Cuda {
    type Operator<'a> = Stored<'a>;

    fn operator(matrix: &DeviceMatrix) -> Stored<'_> {
        matrix.view()
    }
}
