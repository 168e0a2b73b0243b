//! The solution of a run with its mesh, for callers that go on with them: this rank's part in the memory of the space that computed it.

use super::Report;
use crate::Result;
use crate::mesh::Mesh;
use crate::space::{ExecutionSpace, HostMemory, MemorySpace};

/// Mesh, field and report of a run.
#[derive(Debug)]
pub struct Solution<M: MemorySpace = HostMemory> {
    /// This rank's part of the mesh: owned nodes first, then ghosts.
    pub mesh: Mesh<M>,
    /// The field at the nodes of `mesh`, `[owned + ghost][component]`. Ghosts have that of their owners.
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
