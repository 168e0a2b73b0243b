//! The execution spaces on which the main job runs: what the layers below need from a space; its device, free and peak memory,
//! memory forecast and triad bandwidth.

use super::Deck;
use super::provenance::GpuReport;
use crate::Result;
use crate::comm::Communicator;
use crate::fill::{ApplyModel, Assemble, Boundary};
use crate::graph::BuildGraph;
use crate::mesh::MeshSpace;
use crate::solve::{Aggregate, CgSteps};
use crate::space::Scan;
use crate::sparse::Sweep;

/// A space on which the main job runs.
pub trait Job: MeshSpace + BuildGraph + Assemble + ApplyModel + Boundary + CgSteps + Sweep + Aggregate {
    /// A point in the order of work.
    type Mark;

    /// Marks the end of the work enqueued so far; does not wait for it.
    ///
    /// # Errors
    /// A device's failure, here and below.
    fn mark(&self) -> Result<Self::Mark>;

    /// Seconds between two marks; waits until the space has passed both.
    ///
    /// # Errors
    /// As [`mark`](Self::mark).
    fn between(&self, before: &Self::Mark, after: &Self::Mark) -> Result<f64>;

    /// Name of the device for the report: "cpu" or the GPU's name.
    fn device(&self) -> String;

    /// The GPU for the report; `None` on a host.
    fn gpu(&self) -> Option<GpuReport> {
        None
    }

    /// Returns the algorithm that turns the lengths of `rows` rows into offsets: serial or parallel.
    fn scan(&self, rows: usize) -> Scan;

    /// Bytes of memory that this rank may use. Collective.
    ///
    /// # Errors
    /// As [`mark`](Self::mark).
    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64>;

    /// Compiles and loads the kernels that a run with these settings launches, where that takes time.
    ///
    /// # Errors
    /// As [`mark`](Self::mark).
    fn load_kernels(&self, _deck: &Deck) -> Result<()> {
        Ok(())
    }

    /// Maps memory for arrays of `bytes` in all ahead of their allocation, where that takes time.
    ///
    /// # Errors
    /// As [`mark`](Self::mark).
    fn reserve(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Largest number of bytes in use at once so far.
    ///
    /// # Errors
    /// As [`mark`](Self::mark).
    fn peak_bytes(&self) -> Result<u64>;

    /// Estimates the seconds that [`triad_bandwidth`](Self::triad_bandwidth) takes, from above.
    fn triad_seconds(&self, comm: &dyn Communicator) -> f64;

    /// Measures this rank's triad bandwidth in GB/s.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); as [`mark`](Self::mark).
    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64>;
}
