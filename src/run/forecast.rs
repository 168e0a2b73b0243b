//! Forecast of the memory of a run, in bytes by stage, before anything is allocated.
//!
//! ```text
//! of nodes: N owned, G ghosts, L = N + G, E elements, Z entries of the graph, I element corners at owned nodes, M values sent,
//! C entries that the boundary conditions clear, T threads per rank, W elements of a window
//! n nodes of an element, d unknowns of a node, p bytes of a position; Q points of the grid, E' elements of all cells of the part,
//! H slots of a hash table of N items
//! table   lasts      host                                     GPU
//! mesh    always     4 n E + 25 L + 4 M, listed ids 8 L       4 n E + 25 L
//!         meanwhile  listed ids: 8 n E' + 8 Q + 17 H, and 24 N or 8 L + 4 n E + 33 L
//! graph   always     8 N + 4 Z + p n^2 E; with d > 1 instead 8 d N + 4 d^2 Z + 4 d n E + p d^2 n^2 E
//!         meanwhile  gather   12 N + 4 I + 2 n I              36 N, or 12 N + 8 I
//!                    map      16 N + 4 (n - 1) I               12 N + 4 n (n - 1) E
//!                    dashmap  4 N + 8 (Z + N) / 2 + table     -
//!                    sort     4 N + 8 n^2 E                   67/4 n^2 E in all, then 8 n^2 E + 12 N
//! fill    always     gather   8 d N + 4 d I + matrices        8 d N + 4 d I, in the solve W matrices
//!                    scatter  0                               matrices, but for the fused kernel
//!                    seam     d N                             -
//!                    colour   0                               4 E, and as scatter
//! setup   always     8 d^2 Z + 8 d L + 16 d N + 8 C + 12 d M + 8 d G, and the matrix of products
//!         meanwhile  d L, 24 C; or colour 8 d L, seam 4 d N       d L; or graph; or colour 4 E + 16 d L, gather 4 d N + 4 d I
//! solve   always     8 d L + 16 d N                           8 d L + 16 d N
//! ```
//! An element matrix with its residual has 8 d n (d n + 1) bytes on a host and 4 d n (d n + 3) on a GPU, which stores halves.
//! Single-reduction CG adds 8 d L in the set-up. The table of dashmap has 9 bytes per slot and a power of two of
//! slots, at most 7/8 full, in each of 1024 parts. Element matrices of the host's gather lie in windows of about two layers of
//! elements per thread, or all are stored where windows would overlap too much. A matrix on a GPU keeps 8 N + 4 Z of the graph,
//! where gather built 128 N for 4 Z. Slices that are assembled directly keep nothing of the graph. W is E, or the elements of a step
//! and the reach of a row. The host makes meshes other than that of hexahedra, also for a GPU: that is its staging. Without a matrix, graph and values
//! go, and d L of conditions and, with d = 1, 8 L of unknowns come, with gather 8 d n E of element vectors. `tests/resources` compares these numbers with
//! measured peaks.

mod gpu;
mod host;
mod plans;
mod sizes;
mod slices;

pub use gpu::on_gpu;
pub use host::on_host;
pub use sizes::Sizes;

use super::deck::Operator;
use crate::comm::Communicator;
use crate::graph::Strategy as Graph;
use crate::solve::CgVariant;
use crate::sparse::MatrixStorage;
use crate::{Error, Result, fill};

/// Choices on which the memory depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Strategy of the graph.
    pub graph: Graph,
    /// Strategy of the assembly.
    pub fill: fill::Strategy,
    /// Element kernel.
    pub kernel: fill::Kernel,
    /// Worksets of the element kernel.
    pub workset: fill::Workset,
    /// Storage of the matrix.
    pub storage: MatrixStorage,
    /// What CG multiplies by.
    pub operator: Operator,
    /// Variant of CG.
    pub variant: CgVariant,
    /// Threads of the rank.
    pub threads: u64,
}

/// Names of the stages, in their order.
pub const STAGES: [&str; 4] = ["mesh", "graph", "setup", "solve"];

/// The memory that one rank needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes in use at the peak of each of [`STAGES`], in the memory of the space that does it.
    pub stages: [u64; 4],
    /// Host memory of a rank that works on a GPU, at its peak.
    pub staging: u64,
    /// Nodes of the rank.
    pub nodes: u64,
}

impl Forecast {
    fn new(nodes: u64, stages: [u64; 4], staging: u64) -> Self {
        Forecast { stages, staging, nodes }
    }

    /// Returns the largest number of bytes over all stages.
    pub fn peak(&self) -> u64 {
        self.stages.into_iter().fold(0, u64::max)
    }

    /// Rejects a run whose stages need more than `free` bytes in the memory of the space, or whose staging needs more than
    /// `free_on_host` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] that names the first such stage and, on several ranks, the rank.
    pub fn check(&self, comm: &dyn Communicator, free: u64, free_on_host: u64) -> Result<()> {
        let stages = STAGES.into_iter().zip(self.stages).map(|(name, wanted)| (name, wanted, free));
        for (name, wanted, free) in stages.chain([("mesh", self.staging, free_on_host)]) {
            if wanted > free {
                // Memory grows with the nodes.
                let fitting = u128::from(self.nodes) * u128::from(free) / u128::from(wanted);
                let what = format!("this number of nodes (about {fitting} on this rank would fit)");
                let error = Error::OutOfMemory { rank: None, stage: None, what, wanted, free };
                return Err(error.in_stage(name, (comm.size() > 1).then(|| comm.rank())));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
