//! The heat problem as Newton sees it: assembly and linear solve of this rank's share, timed by phase.

use super::{Phases, Progress};
use crate::Result;
use crate::blas::Blas;
use crate::comm::{Communicator, Halo};
use crate::fill::{self, Dirichlet, Elements, Fill, FusedKernel};
use crate::graph::Graph;
use crate::mesh::Mesh;
use crate::solve::{CgInfo, CgParams, CgWorkspace, DistributedOperator, NonlinearProblem, cg};
use crate::space::HostSpace;
use crate::sparse::CrsMatrix;

/// Everything that Newton's steps reuse.
pub(super) struct Heat<'a, S: HostSpace + Blas> {
    pub space: &'a S,
    pub comm: &'a dyn Communicator,
    pub mesh: &'a Mesh,
    pub graph: &'a Graph,
    pub fill: Fill<8>,
    pub kernel: fill::Kernel,
    pub conductivity: f64,
    pub boundary: Dirichlet,
    pub jacobian: CrsMatrix,
    pub halo: Halo,
    pub cg: CgParams,
    pub work: CgWorkspace<S>,
    pub phases: &'a Phases,
    pub progress: &'a dyn Progress,
}

impl<S: HostSpace + Blas> NonlinearProblem<S> for Heat<'_, S> {
    fn rows(&self) -> usize {
        self.graph.crs.rows()
    }

    fn assemble(&mut self, temperature: &mut Vec<f64>, residual: &mut Vec<f64>) -> Result<()> {
        let (space, mesh, graph) = (self.space, self.mesh, self.graph);
        self.phases.time("halo", || self.halo.update(temperature))?;
        self.phases.time("fill", || {
            let elements = Elements::new(&mesh.elem_node, &mesh.node_coord, temperature, self.conductivity)?;
            let jacobian = &mut self.jacobian;
            match self.kernel {
                fill::Kernel::Fused => {
                    let kernel = FusedKernel::new(elements);
                    self.fill.assemble(space, &kernel, &mesh.elem_node, graph, jacobian, residual)
                }
                fill::Kernel::Contraction => {
                    let kernel = fill::ContractionKernel::new(elements);
                    self.fill.assemble(space, &kernel, &mesh.elem_node, graph, jacobian, residual)
                }
            }
        })?;
        self.phases.time("boundary", || self.boundary.apply(space, &mut self.jacobian, residual))
    }

    fn solve(&mut self, residual: &Vec<f64>, delta: &mut Vec<f64>) -> Result<CgInfo> {
        let start = std::time::Instant::now();
        self.space.fill(delta.len(), 0.0, delta)?;
        let mut operator = DistributedOperator::new(&self.jacobian, &mut self.halo, self.mesh.interior_count())?;
        let mut observe = |iteration, norm| self.progress.cg(iteration, norm);
        let info = cg(self.space, self.comm, &mut operator, residual, delta, self.cg, &mut self.work, &mut observe)?;
        let times = operator.times();
        self.phases.add("spmv", times.calls, times.spmv.as_secs_f64());
        self.phases.add("halo", times.calls, times.halo.as_secs_f64());
        self.phases.add("cg", info.iterations as u64, start.elapsed().as_secs_f64());
        Ok(info)
    }
}
