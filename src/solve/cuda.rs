//! The operator of a matrix that lies on a GPU, in any format; small systems are solved in one launch of `kernels/cg.cu`.
//!
//! That is pipelined CG (Ghysels and Vanroose 2014): the iterates of CG, in exact arithmetic, with one synchronisation an
//! iteration instead of three launches. Its recurrences for A r, A p and A A p drift by rounding, so they are formed anew every
//! 32 iterations; the residual follows its own recurrence, as in CG. The number of iterations is CG's within one where the
//! condition is that of a box of elements. For a condition of 3000 it is one more at a tolerance of 1e-8, five more at 1e-10,
//! and close to the last digits it can be many more. So it is used only where launches dominate: where matrix and vectors fit
//! into the shared memories of the GPU, on an H200 up to about 40^3 unknowns of 27 entries. [`Stored::at_once`] turns it off.

use super::kernel_files::CG;
use super::{LinearOperator, Sums};
use crate::comm::Communicator;
use crate::error::check_at_least;
use crate::space::cuda::{Grid, arguments};
use crate::space::{Cuda, CudaArray, ExecutionSpace};
use crate::sparse::{DeviceValue, ProductDot, Stored};
use crate::{Result, blas::cg_slot};

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
        let kernel = V::ITERATE[usize::from(share > FEW)];
        let shared = fixed + capacity * entry;
        let resident = space.resident_blocks(&CG, kernel.0, kernel.1, shared)?;
        Ok((resident >= blocks).then_some(Layout { kernel, blocks, capacity, shared }))
    }
}

impl<V: DeviceValue> LinearOperator<Cuda> for Stored<'_, V> {
    fn rows(&self) -> usize {
        self.matrix().graph().rows()
    }

    fn columns(&self) -> usize {
        self.matrix().graph().columns()
    }

    fn apply_dot(
        &mut self,
        space: &Cuda,
        p: &mut CudaArray<f64>,
        q: &mut CudaArray<f64>,
        partials: &mut CudaArray<f64>,
        slot: usize,
        scalars: &mut CudaArray<f64>,
    ) -> Result<()> {
        let rows = 0..self.matrix().graph().rows();
        self.spmv_dot(space, ProductDot { rows, x: p, y: q, partials, slot, scalars })
    }

    /// For one process: sums over ranks have no place in the launch.
    fn iterate(
        &mut self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        r: &mut CudaArray<f64>,
        scalars: &mut CudaArray<f64>,
    ) -> Result<bool> {
        let (a, graph) = (self.matrix(), self.matrix().graph());
        let (rows, columns) = (graph.rows(), graph.columns());
        if !self.at_once || columns != rows {
            return Ok(false);
        }
        let Some(layout) = Layout::new::<V>(space, rows, graph.nnz())? else { return Ok(false) };
        check_at_least("iterate", "x", x.len(), rows)?;
        check_at_least("iterate", "r", r.len(), rows)?;
        check_at_least("iterate", "scalars", scalars.len(), cg_slot::LEN)?;
        let mut vectors = space.unfilled::<f64>(VECTORS.1 * rows)?;
        let mut slots = space.unfilled::<u64>(6 * layout.blocks)?;
        space.fill_bytes(&mut slots, 0xff)?;
        let (name, threads) = layout.kernel;
        let grid = Grid::new(layout.blocks, threads).shared(layout.shared).cooperative();
        let (capacity, rows) = (layout.capacity as u32, rows as u64);
        let (row_map, entries, values) = (graph.row_map(), graph.entries(), a.values());
        let arguments = arguments![rows, capacity, row_map, entries, values, x, r, scalars, &mut vectors, &mut slots];
        space.launch(&CG, name, grid, arguments)?;
        Ok(true)
    }
}

/// Scalars of a GPU go over the host where there are several ranks.
impl Sums<Cuda> for dyn Communicator + '_ {
    fn sum(&self, space: &Cuda, scalars: &mut CudaArray<f64>, slot: usize) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let mut all = space.download(scalars)?;
        self.all_sum(&mut all[slot..=slot]);
        *scalars = space.upload(&all)?;
        Ok(())
    }
}
