//! The solution of a run with its mesh, for callers that go on with them: this rank's part in the memory of the space that computed it.

use super::{Job, Report};
use crate::Result;
use crate::mesh::Mesh;
use crate::space::{ExecutionSpace, HostMemory, MemorySpace};

/// Mesh, temperature and report of a run.
#[derive(Clone, Debug)]
pub struct Solution<M: MemorySpace = HostMemory> {
    /// This rank's part of the mesh: owned nodes first, then ghosts.
    pub mesh: Mesh<M>,
    /// The temperature at the nodes of `mesh`, `[owned + ghost]`; at ghosts, that of their owners.
    pub field: M::Array<f64>,
    /// The report, the same on each rank.
    pub report: Report,
}

impl<M: MemorySpace> Solution<M> {
    /// Copies mesh and field from the memory of `space` to the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when a device fails.
    pub fn download<S: ExecutionSpace<Memory = M>>(self, space: &S) -> Result<Solution> {
        let (mesh, field) = (self.mesh.download(space)?, space.download(&self.field)?);
        Ok(Solution { mesh, field, report: self.report })
    }
}

/// What a caller wants of a solution in the memory of any space.
pub(super) trait Keep {
    type Kept;

    /// Takes it and frees the rest.
    fn keep<S: Job>(space: &S, solution: Solution<S::Memory>) -> Result<Self::Kept>;
}

/// Keeps the report and copies nothing.
pub(super) struct ReportOnly;

impl Keep for ReportOnly {
    type Kept = Report;

    fn keep<S: Job>(_space: &S, solution: Solution<S::Memory>) -> Result<Report> {
        Ok(solution.report)
    }
}

/// Keeps everything on the host.
pub(super) struct OnHost;

impl Keep for OnHost {
    type Kept = Solution;

    fn keep<S: Job>(space: &S, solution: Solution<S::Memory>) -> Result<Solution> {
        solution.download(space)
    }
}
