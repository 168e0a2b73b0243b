//! The job on a GPU: everything stays there; the host sees norms, and times when the work is done.

use super::deck::ProblemDeck;
use super::job::{Given, Job, Problem};
use super::{Analytic, Phases, Progress};
use crate::blas;
use crate::comm::{Communicator, Solo};
use crate::fill::{self, Assemble, CudaHeatAssembly, Dirichlet, HeatInput};
use crate::graph::Graph;
use crate::mesh::{BoxPart, Face, Mesh, MeshSpace};
use crate::solve::{CgInfo, CgParams, CgWorkspace, NonlinearProblem, cg};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Event};
use crate::space::{Array, ExecutionSpace};
use crate::sparse::{CrsMatrix, Format, Storage};
use crate::{Error, Result};

/// Products that are timed where bandwidth is asked for.
const PRODUCTS: usize = 20;

impl Job for Cuda {
    type Problem<'a> = Heat<'a>;

    const FILL: fill::Strategy = <Cuda as Assemble>::STRATEGY;

    fn device(&self) -> String {
        self.device().info().name.clone()
    }

    fn threads(&self) -> usize {
        1
    }

    fn free_bytes(&self, _: &dyn Communicator) -> Result<u64> {
        Ok(self.device().memory()?.0)
    }

    fn peak_bytes(&self) -> Result<u64> {
        self.device().peak_bytes()
    }

    fn triad_bandwidth(&self, _: &dyn Communicator) -> Result<f64> {
        let items = (self.device().memory()?.0 / 64).min(1 << 28) as usize;
        Ok(blas::triad_on_gpu(self, items)?.median)
    }

    fn mesh(&self, part: BoxPart, free: u64) -> Result<Mesh<CudaMemory>> {
        let mesh = Mesh::new(self, part, free)?;
        self.check_folding(&mesh).map(|()| mesh)
    }

    fn mesh_longest_edge(&self, mesh: &Mesh<CudaMemory>) -> Result<f64> {
        self.longest_edge(mesh)
    }

    fn start(&self, mesh: &Mesh<CudaMemory>, problem: &ProblemDeck) -> Result<CudaArray<f64>> {
        let mut temperature = self.zeros(mesh.map.local_count())?;
        self.set_on_face(mesh, Face::ZMin, problem.t_min, &mut temperature)?;
        self.set_on_face(mesh, Face::ZMax, problem.t_max, &mut temperature)?;
        Ok(temperature)
    }

    fn exact(&self, mesh: &Mesh<CudaMemory>, exact: &Analytic) -> Result<CudaArray<f64>> {
        self.sample(exact, &mesh.node_coord, mesh.map.owned_count())
    }

    fn problem<'a>(&'a self, given: Given<'a, Self>) -> Result<Heat<'a>> {
        let Given { deck, comm, mesh, graph, conductivity, phases, progress } = given;
        if comm.size() > 1 {
            return Err(Error::Invalid("several ranks on GPUs: not yet; use one rank, or --device cpu".into()));
        }
        let rows = graph.crs.rows();
        let fixed = self.on_faces(mesh, [Face::ZMin, Face::ZMax])?;
        Ok(Heat {
            space: self,
            mesh,
            graph,
            fill: self.heat_assembly(deck.fill.strategy.or(Self::FILL), deck.fill.kernel, &mesh.elem_node, graph)?,
            conductivity,
            boundary: Dirichlet::new(self, &graph.crs, &fixed)?,
            jacobian: CrsMatrix::from_parts(graph.crs.clone(), self.unfilled(graph.crs.nnz())?),
            storage: Storage::new(self, deck.device.format.or(Format::default()), &graph.crs)?,
            cg: CgParams { tolerance: deck.cg.tolerance, max_iterations: deck.cg.max_iterations },
            work: CgWorkspace::new(self, rows, mesh.map.local_count())?,
            marks: Vec::new(),
            measured: deck.run.triad,
            phases,
            progress,
        })
    }
}

/// Everything that Newton's steps reuse.
pub struct Heat<'a> {
    space: &'a Cuda,
    mesh: &'a Mesh<CudaMemory>,
    graph: &'a Graph<CudaMemory>,
    fill: CudaHeatAssembly,
    conductivity: f64,
    boundary: Dirichlet<CudaMemory>,
    jacobian: CrsMatrix<f64, CudaMemory>,
    storage: Storage,
    cg: CgParams,
    work: CgWorkspace<Cuda>,
    /// Phases whose times the GPU keeps until somebody waits for it.
    marks: Vec<(&'static str, Event, Event)>,
    /// Whether products are timed by themselves at the end: inside CG's recorded iterations no clock is read.
    measured: bool,
    phases: &'a Phases,
    progress: &'a dyn Progress,
}

impl std::fmt::Debug for Heat<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heat").field("space", &self.space).field("cg", &self.cg).finish_non_exhaustive()
    }
}

impl Heat<'_> {
    /// Does `work` between two marks, without waiting.
    fn timed(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.space.record()?;
        work(self)?;
        self.marks.push((name, before, self.space.record()?));
        Ok(())
    }

    fn fill(&mut self, temperature: &CudaArray<f64>, residual: &mut CudaArray<f64>) -> Result<()> {
        let input = HeatInput {
            elem_node: &self.mesh.elem_node,
            node_coord: &self.mesh.node_coord,
            temperature,
            conductivity: self.conductivity,
        };
        self.space.assemble_heat(&mut self.fill, input, self.graph, &mut self.jacobian, residual)
    }
}

impl Problem<Cuda> for Heat<'_> {
    fn boundary_entries(&self) -> usize {
        self.boundary.len()
    }

    fn halo_bytes(&self) -> usize {
        0
    }

    fn finish(&mut self) -> Result<()> {
        if self.measured {
            let (space, rows) = (self.space, self.graph.crs.rows());
            let (x, mut y) = (space.zeros(self.graph.crs.columns())?, space.zeros(rows)?);
            for _ in 0..PRODUCTS {
                self.timed("spmv", |heat| heat.storage.view(&heat.jacobian).spmv(space, 1.0, &x, 0.0, &mut y))?;
            }
        }
        self.book()
    }
}

impl Heat<'_> {
    /// Books the times of the marks, which are passed.
    fn book(&mut self) -> Result<()> {
        for (name, before, after) in self.marks.drain(..) {
            self.phases.add(name, 1, after.since(&before)?.as_secs_f64());
        }
        Ok(())
    }
}

impl NonlinearProblem<Cuda> for Heat<'_> {
    fn rows(&self) -> usize {
        self.graph.crs.rows()
    }

    fn assemble(&mut self, temperature: &mut CudaArray<f64>, residual: &mut CudaArray<f64>) -> Result<()> {
        self.timed("fill", |heat| heat.fill(temperature, residual))?;
        self.timed("boundary", |heat| heat.boundary.apply(heat.space, &mut heat.jacobian, residual))
    }

    fn solve(&mut self, residual: &CudaArray<f64>, delta: &mut Array<Cuda, f64>) -> Result<CgInfo> {
        self.timed("format", |heat| heat.storage.update(heat.space, &heat.jacobian))?;
        let before = self.space.record()?;
        self.space.fill_bytes(delta, 0)?;
        let mut observe = |iteration, norm| self.progress.cg(iteration, norm);
        let mut operator = self.storage.view(&self.jacobian);
        let info = cg(self.space, &Solo, &mut operator, residual, delta, self.cg, &mut self.work, &mut observe)?;
        let time = self.space.record()?.since(&before)?;
        self.phases.add("cg", info.iterations as u64, time.as_secs_f64());
        self.book()?;
        Ok(info)
    }
}
