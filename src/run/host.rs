//! The job on host spaces: assembly and linear solve of this rank's share, timed by phase.

use super::deck::ProblemDeck;
use super::job::{Given, Job, Problem};
use super::{Analytic, Phases, Progress};
use crate::Result;
use crate::blas::{self, Blas};
use crate::comm::{Communicator, Halo};
use crate::fill::{self, Assemble, Dirichlet, HeatInput};
use crate::graph::Graph;
use crate::mesh::{BoxPart, Face, Mesh, MeshSpace};
use crate::solve::{CgInfo, CgParams, CgWorkspace, DistributedOperator, NonlinearProblem, cg};
use crate::space::{HostSpace, available_bytes, peak_bytes};
use crate::sparse::CrsMatrix;

impl<S: HostSpace> Job for S {
    type Problem<'a>
        = Heat<'a, S>
    where
        S: 'a;

    const FILL: fill::Strategy = <S as Assemble>::STRATEGY;

    fn device(&self) -> String {
        "cpu".into()
    }

    fn threads(&self) -> usize {
        self.concurrency()
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        Ok(available_bytes() / comm.ranks_on_node() as u64)
    }

    fn peak_bytes(&self) -> Result<u64> {
        Ok(peak_bytes())
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        Ok(blas::triad(self, blas::triad_length(comm.ranks_on_node()))?.median)
    }

    fn mesh(&self, part: BoxPart, free: u64) -> Result<Mesh> {
        let mesh = Mesh::new(self, part, free)?;
        self.check_folding(&mesh).map(|()| mesh)
    }

    fn mesh_longest_edge(&self, mesh: &Mesh) -> Result<f64> {
        self.longest_edge(mesh)
    }

    fn start(&self, mesh: &Mesh, problem: &ProblemDeck) -> Result<Vec<f64>> {
        let mut temperature = self.zeros(mesh.map.local_count())?;
        self.set_on_face(mesh, Face::ZMin, problem.t_min, &mut temperature)?;
        self.set_on_face(mesh, Face::ZMax, problem.t_max, &mut temperature)?;
        Ok(temperature)
    }

    fn exact(&self, mesh: &Mesh, exact: &Analytic) -> Result<Vec<f64>> {
        self.sample(exact, &mesh.node_coord, mesh.map.owned_count())
    }

    fn problem<'a>(&'a self, given: Given<'a, Self>) -> Result<Heat<'a, S>> {
        let Given { deck, comm, mesh, graph, conductivity, phases, progress } = given;
        let rows = graph.crs.rows();
        Ok(Heat {
            space: self,
            comm,
            mesh,
            graph,
            fill: self.heat_assembly(deck.fill.strategy.or(Self::FILL), deck.fill.kernel, &mesh.elem_node, graph)?,
            conductivity,
            boundary: Dirichlet::new(self, &graph.crs, &self.on_faces(mesh, [Face::ZMin, Face::ZMax])?)?,
            jacobian: CrsMatrix::zero(graph.crs.clone()),
            halo: Halo::new(comm, &mesh.map)?,
            cg: CgParams { tolerance: deck.cg.tolerance, max_iterations: deck.cg.max_iterations },
            work: CgWorkspace::new(self, rows, mesh.map.local_count())?,
            phases,
            progress,
        })
    }
}

/// Everything that Newton's steps reuse.
pub struct Heat<'a, S: HostSpace + Blas> {
    space: &'a S,
    comm: &'a dyn Communicator,
    mesh: &'a Mesh,
    graph: &'a Graph,
    fill: fill::HostHeatAssembly,
    conductivity: f64,
    boundary: Dirichlet,
    jacobian: CrsMatrix,
    halo: Halo,
    cg: CgParams,
    work: CgWorkspace<S>,
    phases: &'a Phases,
    progress: &'a dyn Progress,
}

impl<S: HostSpace + Blas> std::fmt::Debug for Heat<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heat").field("cg", &self.cg).finish_non_exhaustive()
    }
}

impl<S: HostSpace + Blas> Problem<S> for Heat<'_, S> {
    fn boundary_entries(&self) -> usize {
        self.boundary.len()
    }

    fn halo_bytes(&self) -> usize {
        self.halo.bytes_sent()
    }
}
impl<S: HostSpace + Blas> NonlinearProblem<S> for Heat<'_, S> {
    fn rows(&self) -> usize {
        self.graph.crs.rows()
    }

    fn assemble(&mut self, temperature: &mut Vec<f64>, residual: &mut Vec<f64>) -> Result<()> {
        let (space, mesh, graph) = (self.space, self.mesh, self.graph);
        self.phases.time("halo", || self.halo.update(temperature))?;
        self.phases.time("fill", || {
            let input = HeatInput {
                elem_node: &mesh.elem_node,
                node_coord: &mesh.node_coord,
                temperature: &*temperature,
                conductivity: self.conductivity,
            };
            space.assemble_heat(&mut self.fill, input, graph, &mut self.jacobian, residual)
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
