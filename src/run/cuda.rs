//! The job on a GPU: everything stays there; the host sees norms, and times when the work is done.

use super::deck::ProblemDeck;
use super::job::{Given, Job, Problem};
use super::{Analytic, Phases, Progress};
use crate::blas;
use crate::comm::{Communicator, Solo};
use crate::element::HEX8;
use crate::fill::{self, ContractionWorkset, CudaFill, Dirichlet, ElementMatrices};
use crate::graph::Graph;
use crate::mesh::{BoxPart, Face, Mesh};
use crate::solve::{CgInfo, CgParams, CgWorkspace, NonlinearProblem, cg};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Event};
use crate::space::{Array, ExecutionSpace};
use crate::sparse::{CrsMatrix, Format, Storage};
use crate::{Error, Result};

/// Elements whose arrays the contraction kernel keeps at once: 27 KiB each.
const WORKSET: usize = 65_536;

/// Products that are timed where bandwidth is asked for.
const PRODUCTS: usize = 20;

impl Job for Cuda {
    type Problem<'a> = Heat<'a>;

    const FILL: fill::Strategy = fill::Strategy::Gather;

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
        let mesh = Mesh::generate(self, part, free)?;
        mesh.check_folding(self, &HEX8.gradients).map(|()| mesh)
    }

    fn mesh_longest_edge(&self, mesh: &Mesh<CudaMemory>) -> Result<f64> {
        mesh.longest_edge(self)
    }

    fn start(&self, mesh: &Mesh<CudaMemory>, problem: &ProblemDeck) -> Result<CudaArray<f64>> {
        let mut temperature = self.zeros(mesh.map.local_count())?;
        mesh.set_on_face(self, Face::ZMin, problem.t_min, &mut temperature)?;
        mesh.set_on_face(self, Face::ZMax, problem.t_max, &mut temperature)?;
        Ok(temperature)
    }

    fn exact(&self, mesh: &Mesh<CudaMemory>, exact: &Analytic) -> Result<CudaArray<f64>> {
        let [a, zmin, b] = exact.coefficients();
        mesh.inverse_square(self, a, zmin, b)
    }

    fn problem<'a>(&'a self, given: Given<'a, Self>) -> Result<Heat<'a>> {
        let Given { deck, comm, mesh, graph, conductivity, phases, progress } = given;
        if comm.size() > 1 {
            return Err(Error::Invalid("several ranks on GPUs: not yet; use one rank, or --device cpu".into()));
        }
        let (rows, elems) = (graph.crs.rows(), mesh.elem_count());
        let kernel = match deck.fill.kernel {
            fill::Kernel::Fused => Kernel::Fused,
            fill::Kernel::Contraction => Kernel::Contraction {
                workset: Box::new(ContractionWorkset::new(self, WORKSET.min(elems))?),
                matrices: self.unfilled(64 * elems)?,
                residuals: self.unfilled(8 * elems)?,
            },
        };
        let fixed = mesh.on_faces(self, [Face::ZMin, Face::ZMax])?;
        Ok(Heat {
            space: self,
            mesh,
            graph,
            fill: CudaFill::new(self, deck.fill.strategy.or(Self::FILL), &mesh.elem_node, graph)?,
            kernel,
            conductivity,
            boundary: Dirichlet::on_device(self, &graph.crs, &fixed)?,
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
    fill: CudaFill,
    kernel: Kernel,
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

/// The element kernel with what it needs.
enum Kernel {
    Fused,
    Contraction { workset: Box<ContractionWorkset>, matrices: CudaArray<f64>, residuals: CudaArray<f64> },
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
        let (space, table, coord) = (self.space, &self.mesh.elem_node, &self.mesh.node_coord);
        let (graph, conductivity, jacobian) = (self.graph, self.conductivity, &mut self.jacobian);
        match &mut self.kernel {
            Kernel::Fused => {
                self.fill.assemble_heat(space, table, graph, coord, temperature, conductivity, jacobian, residual)
            }
            Kernel::Contraction { workset, matrices, residuals } => {
                let elems = 0..table.elem_count();
                workset.evaluate(space, table, elems, coord, temperature, conductivity, matrices, residuals)?;
                let elements = ElementMatrices { matrices, residuals, symmetric: false };
                self.fill.assemble_matrices(space, table, graph, elements, jacobian, residual)
            }
        }
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
