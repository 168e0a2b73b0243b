//! CG of small systems on a GPU in one launch of `kernels/cg_at_once.cu`.
//!
//! It is pipelined CG (Ghysels and Vanroose 2014): the iterates of CG, in exact arithmetic, with one synchronisation per
//! iteration instead of three launches. Its recurrences for A r, A p and A A p drift by rounding, so they are formed anew after
//! 8, 24, 56 and 120 iterations and every 64 from there on; the residual follows its own recurrence, as in CG. For conditions of
//! up to 10^4 and a tolerance of 1e-10 the number of iterations is CG's within one; close to the last digits it can be many more.
//! So it is planned only where launches dominate: up to 2048 rows per multiprocessor, on an H200 up to about
//! 54^3 unknowns of 27 entries, or 64^3 if values are f32.

use super::{CgSlot, SingleLaunch};
use crate::Result;
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::solve::kernel_files::CG_AT_ONCE;
use crate::space::cuda::CudaMemory;
use crate::space::cuda::{Grid, arguments};
use crate::space::{Cuda, CudaArray};
use crate::sparse::{CrsMatrix, StoredValue};

/// Most blocks whose sums the kernel reads.
const BLOCKS: usize = 160;
/// Bytes of shared memory that the kernel has for itself.
const OWN: usize = 1024;
/// Entries of the work space per block beyond those of its rows and a quarter of them, as in `cg_part.cuh`.
const PADDING: usize = 2048;
/// Vectors that blocks show to each other.
const SHOWN: usize = 5;
/// Most bytes of values and 16-bit columns: what does not stay on the multiprocessors has to stay in the L2. For 64^3 unknowns of 27
/// entries in f64 it does not, and a CUDA graph of three launches per iteration is faster.
const MATRIX: usize = 40 << 20;

/// A kernel of the file: names by value type, most threads and rows of a block, threads per row, longest row in the mean. Registers
/// hold rows of that length; `MANY` has slices instead.
struct Kernel {
    names: [&'static str; 2],
    threads: usize,
    rows: usize,
    lanes: usize,
    entries: usize,
}

const FEW: Kernel =
    Kernel { names: ["iterate_f64_few", "iterate_f32_few"], threads: 512, rows: 256, lanes: 2, entries: 28 };
const MANY: Kernel =
    Kernel { names: ["iterate_f64_many", "iterate_f32_many"], threads: 512, rows: 2048, lanes: 1, entries: usize::MAX };

/// How a small system is laid out over the blocks.
struct Layout {
    name: &'static str,
    threads: u32,
    blocks: usize,
    /// Whether the kernel copies the matrix.
    copies: bool,
    /// Bytes of dynamic shared memory of a block.
    shared: usize,
}

impl Layout {
    /// `None` where the system is too large.
    fn new<V: StoredValue>(space: &Cuda, rows: usize, nnz: usize) -> Result<Option<Self>> {
        if rows == 0 {
            return Ok(None);
        }
        let most = (space.device().info().multiprocessors as usize).min(BLOCKS).min(rows.div_ceil(32));
        let share = rows.div_ceil(most);
        let (blocks, entry) = (rows.div_ceil(share), size_of::<V>() + 2);
        let fits = |kernel: &&Kernel| share <= kernel.rows && nnz <= rows.saturating_mul(kernel.entries);
        let Some(kernel) = [&FEW, &MANY].into_iter().find(fits) else { return Ok(None) };
        if nnz.saturating_mul(entry) > MATRIX {
            return Ok(None);
        }
        // At least two warps, for the items of other blocks.
        let threads = (share * kernel.lanes).next_multiple_of(32).clamp(64, kernel.threads);
        let copies = kernel.entries == usize::MAX;
        // x, products and row offsets, the block's window and two words per 32 columns of the matrix while it is laid out.
        let least = 24 * share + 8 * (share + 2).div_ceil(2) + 8 * rows.div_ceil(32) + 576;
        // Twice as many items of other blocks as rows of its own times the mean length of a row would be enough for any numbering.
        let window = 12 * rows.min(2 * nnz.div_ceil(blocks) + 64);
        let matrix = if copies { entry * (nnz.div_ceil(blocks) * 9).div_ceil(8) } else { 0 };
        let limit = space.shared_limit()?.saturating_sub(OWN) / 8 * 8;
        if least > limit {
            return Ok(None);
        }
        let shared = (least + window + matrix).next_multiple_of(8).min(limit);
        let name = kernel.names[usize::from(V::NAME == "f32")];
        let resident = space.resident_blocks(&CG_AT_ONCE, name, threads as u32, shared)?;
        Ok((resident >= blocks).then_some(Layout { name, threads: threads as u32, blocks, copies, shared }))
    }
}

impl Cuda {
    /// Plans CG with a matrix in one launch: [`CgSteps::single_launch`](super::CgSteps::single_launch) for a matrix in CRS. `None` where
    /// the system is too large or not square.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn single_launch_of<'a, V: StoredValue>(
        &self,
        a: &'a CrsMatrix<V, CudaMemory>,
    ) -> Result<Option<Box<SingleLaunch<'a, Cuda>>>> {
        let (rows, nnz) = (a.graph().rows(), a.graph().nnz());
        if a.graph().columns() != rows {
            return Ok(None);
        }
        let Some(layout) = Layout::new::<V>(self, rows, nnz)? else { return Ok(None) };
        Ok(Some(Box::new(move |space, x, r, sums| layout.iterate(space, a, x, r, sums))))
    }
}

impl Layout {
    /// Launches the kernel.
    fn iterate<V: StoredValue>(
        &self,
        space: &Cuda,
        a: &CrsMatrix<V, CudaMemory>,
        x: &mut CudaArray<f64>,
        r: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
    ) -> Result<()> {
        let (layout, graph, rows) = (self, a.graph(), a.graph().rows());
        check_at_least("cg_at_once", "x", x.len(), rows)?;
        check_at_least("cg_at_once", "r", r.len(), rows)?;
        sums.check("cg_at_once", CgSlot::LEN - 1)?;
        // Words of turn 1, before the kernel's turn 0.
        let (mut shown, mut slots) = (space.unfilled::<u64>(SHOWN * rows)?, space.unfilled::<u64>(4 * layout.blocks)?);
        space.fill_bytes(&mut shown, 0xff)?;
        space.fill_bytes(&mut slots, 0xff)?;
        // Entries of the work space: those of the matrix and a quarter more; values of `MANY`, 16-bit places of all.
        let room = graph.nnz() + graph.nnz() / 4 + PADDING * (layout.blocks + 1);
        let mut work = space.unfilled::<V>(if layout.copies { room } else { 0 })?;
        let mut places = space.unfilled::<u32>(room.div_ceil(2))?;
        let grid = Grid::new(layout.blocks, layout.threads).shared(layout.shared).cooperative();
        let (bytes, rows) = (layout.shared as u32, rows as u64);
        let (row_map, entries, values) = (graph.row_map(), graph.entries(), a.values());
        let scalars = &mut sums.scalars;
        #[rustfmt::skip]
        let arguments = arguments![
            rows, bytes, row_map, entries, values, x, r, scalars, &mut work, &mut places, &mut shown, &mut slots,
        ];
        space.launch(&CG_AT_ONCE, layout.name, grid, arguments)
    }
}
