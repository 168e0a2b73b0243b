//! Checks the values of a deck. Each refusal is one line that names the key and the flag.

use super::model::MINIFE_ITERATIONS;
use super::{Choice, Deck, Nodes, ProblemDeck, ProblemKind, RowLanes, Solver};
use crate::contraction::Variant;
use crate::element::ElementType;
use crate::files::NamedFile;
use crate::fill::Kernel;
use crate::mesh::{BoxSpec, CoordinateMap, vtu_files};
use crate::space::{Scan, allowed_cores};
use crate::sparse::Precision;
use crate::{Error, Result};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Threads that a rank may start on any machine, and threads per core above that.
const MAX_THREADS: (usize, usize) = (64, 4);
/// Longest limit of a wait, in seconds.
const MAX_TIMEOUT: f64 = 1e9;

/// Largest temperature and velocity: norms of residuals, which have their squares, stay finite.
const LARGEST: f64 = 1e60;

/// Flags by their keys, where they are not the last word of the key.
const FLAGS: &[(&str, &str)] = &[
    ("newton.tolerance", "newton-tolerance"),
    ("newton.max_iterations", "newton-max"),
    ("newton.forcing", "forcing"),
    ("cg.tolerance", "cg-tolerance"),
    ("cg.max_iterations", "cg-max"),
    ("cg.iterations", "cg-iterations"),
    ("cg.variant", "cg-variant"),
    ("cg.preconditioner", "preconditioner"),
    ("problem.kind", "problem"),
    ("matrix.values", "matrix"),
    ("graph.strategy", "graph"),
    ("graph.scan", "scan"),
    ("fill.strategy", "fill"),
];

/// The flag of a key: `--nodes` of `mesh.nodes`.
pub(in crate::run) fn flag(key: &str) -> String {
    let flag = FLAGS.iter().find(|(known, _)| *known == key).map(|(_, flag)| flag.to_string());
    format!("--{}", flag.unwrap_or_else(|| key.rsplit('.').next().unwrap_or(key).replace('_', "-")))
}

/// A key with its flag: `mesh.nodes (--nodes)`.
pub(in crate::run) fn with_flag(key: &str) -> String {
    format!("{key} ({})", flag(key))
}

fn refuse(key: &str, value: impl Display, why: impl Display) -> Result<()> {
    refuse_if(true, key, value, why)
}

fn refuse_if(is_wrong: bool, key: &str, value: impl Display, why: impl Display) -> Result<()> {
    if is_wrong { Err(Error::Invalid(format!("{}: {value}: {why}", with_flag(key)))) } else { Ok(()) }
}

impl Deck {
    /// Checks every value and combination that does not depend on the number of ranks.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the key, its flag and the value.
    pub fn check(&self) -> Result<()> {
        let Deck { mesh, problem, newton, cg, run, .. } = self;
        if let (Some(nodes), Some(share)) = (mesh.nodes, mesh.nodes_per_rank) {
            return refuse("mesh.nodes", nodes, format!("mesh.nodes_per_rank is {share} too; give one of them"));
        }
        self.check_model()?;
        self.check_operator()?;
        self.check_solver()?;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        for edge in mesh.size {
            refuse_if(!is_positive(edge), "mesh.size", edge, "give positive numbers")?;
        }
        let range = 0.0..=BoxSpec::MOST_UNEVEN;
        let why = format!("give per cent from 0 to {:e}", range.end());
        refuse_if(!range.contains(&mesh.imbalance), "mesh.imbalance", mesh.imbalance, why)?;
        if let CoordinateMap::Bubble(amplitude) | CoordinateMap::Twist(amplitude) = mesh.map {
            refuse_if(!amplitude.is_finite(), "mesh.map", amplitude, "give a finite amplitude")?;
        }
        for (key, value) in [("problem.t_min", problem.t_min), ("problem.t_max", problem.t_max)] {
            let why = format!("give a positive temperature, up to {LARGEST:e}");
            refuse_if(!is_positive(value) || value > LARGEST, key, short(value), why)?;
        }
        let why = "equal to problem.t_min: give two different temperatures";
        refuse_if(problem.t_min == problem.t_max, "problem.t_max", problem.t_max, why)?;
        if let Some(seconds) = run.timeout.filter(|seconds| !(*seconds > 0.0 && *seconds <= MAX_TIMEOUT)) {
            return refuse("run.timeout", seconds, format!("give seconds above 0 and up to {MAX_TIMEOUT:e}"));
        }
        if let Some(fill) = self.fill.strategy.given().filter(|fill| run.deterministic && !fill.is_reproducible()) {
            let why = format!("fill.strategy (--fill) is {fill}, which adds in any order; give auto, gather or colour");
            return refuse("run.deterministic", true, why);
        }
        for (key, value) in [("newton.tolerance", newton.tolerance), ("cg.tolerance", self.cg.tolerance)] {
            let value = value.unwrap_or(1e-8);
            refuse_if(!(value > 0.0 && value < 1.0), key, value, "give a number between 0 and 1")?;
        }
        positive("newton.max_iterations", newton.max_iterations)?;
        positive("fill.workset", self.fill.workset.unwrap_or(1))?;
        positive("cg.max_iterations", cg.max_iterations)?;
        self.check_iterations()?;
        for (key, path) in [("run.report", &run.report), ("run.append", &run.append)] {
            let is_empty = path.as_ref().is_some_and(|path| path.as_os_str().is_empty());
            refuse_if(is_empty, key, "``", "give a file name")?;
        }
        if let Some(path) = run.vtk.as_ref().filter(|path| path.extension().is_none_or(|end| end != "vtu")) {
            return refuse("run.vtk", format!("`{}`", path.display()), "give a name that ends with .vtu");
        }
        threads(run.threads.unwrap_or(1), allowed_cores())
    }

    /// Checks that problem and element go together with the other settings.
    fn check_model(&self) -> Result<()> {
        let (element, kind) = (self.mesh.element, self.problem.kind);
        let why = format!("the box has 3 dimensions; choose one of {}", ElementType::volume_names());
        refuse_if(element.dim() != 3, "mesh.element", element, why)?;
        let (given, default) = (&self.problem, ProblemDeck::default());
        for (key, value, default) in
            [("problem.t_min", given.t_min, default.t_min), ("problem.t_max", given.t_max, default.t_max)]
        {
            let why = format!("only the problem heat has temperatures, and {} is {kind}", with_flag("problem.kind"));
            refuse_if(kind != ProblemKind::Heat && value != default, key, value, why)?;
        }
        let is_small = self.problem.advection.iter().all(|v| v.abs() <= LARGEST);
        let why = format!("give three numbers, up to {LARGEST:e} in magnitude");
        refuse_if(!is_small, "problem.advection", self.velocity(), why)?;
        let this = self.described();
        let why =
            format!("only problem heat on hex8 has this kernel, and this is {this}; give auto, intrepid or table");
        let is_fused = self.fill.kernel == Choice::Given(Kernel::Fused);
        refuse_if(is_fused && !self.has_fused_kernel(), "fill.kernel", Kernel::Fused, why)?;
        let is_unit = self.mesh.size == [1.0; 3] && self.mesh.nodes_per_rank.is_none();
        let why = "its box is the unit cube; give mesh.nodes (--nodes) and leave out mesh.size (--size)";
        refuse_if(kind == ProblemKind::Minife && !is_unit, "problem.kind", kind, why)
    }

    /// The velocity as `--advection` takes it.
    fn velocity(&self) -> String {
        self.problem.advection.map(short).join(",")
    }

    /// Checks that the Krylov method suits the matrix and the other settings of a solve.
    fn check_solver(&self) -> Result<()> {
        let (solver, kind) = (self.solver(), self.problem.kind);
        let (is_advected, preconditioner) = (self.has_advection(), self.preconditioning());
        let has_none = matches!(kind, ProblemKind::Elasticity | ProblemKind::Minife);
        let why = format!("{} is {kind}; only heat, poisson and diffusion have advection", with_flag("problem.kind"));
        refuse_if(is_advected && has_none, "problem.advection", self.velocity(), why)?;
        let why = "needs a symmetric matrix, and problem.advection (--advection) is given; give mg, chebyshev, gauss-seidel or jacobi";
        refuse_if(is_advected && preconditioner.needs_symmetry(), "cg.preconditioner", preconditioner, why)?;
        if solver == Solver::Cg {
            let why = "the matrix is not symmetric with problem.advection (--advection); give auto, gmres or bicgstab";
            return refuse_if(is_advected, "cg.solver", solver, why);
        }
        let is_convention = self.cg.iterations.is_none() && self.cg_iterations().is_some();
        let why = format!("does {MINIFE_ITERATIONS} iterations of CG; give cg.tolerance (--cg-tolerance) for {solver}");
        refuse_if(is_convention, "problem.kind", kind, why)?;
        let given = [
            ("cg.variant", self.cg.variant.given().map(|variant| variant.to_string())),
            ("cg.iterations", self.cg_iterations().map(|iterations| iterations.to_string())),
        ];
        given.into_iter().find_map(|(key, value)| value.map(|value| (key, value))).map_or(Ok(()), |(key, value)| {
            let why = match self.cg.solver {
                Choice::Given(_) => format!("{} is {solver}", with_flag("cg.solver")),
                Choice::Auto => format!("{} {} takes {solver}", with_flag("problem.advection"), self.velocity()),
            };
            refuse(key, value, format!("only of CG, and {why}"))
        })
    }

    /// Refuses settings of a matrix where none is stored.
    fn check_operator(&self) -> Result<()> {
        if self.has_matrix() {
            return Ok(());
        }
        let Deck { graph, fill, matrix, .. } = self;
        let given: [(&str, bool, &dyn Display); 10] = [
            ("graph.strategy", graph.strategy != Choice::Auto, &graph.strategy),
            ("graph.scan", graph.scan != Scan::Auto, &graph.scan),
            ("fill.kernel", fill.kernel != Choice::Auto, &fill.kernel),
            ("fill.workset", fill.workset.is_some(), &fill.workset.unwrap_or(0)),
            ("fill.layout", fill.layout != Choice::Auto, &fill.layout),
            ("fill.variant", fill.variant != Variant::Auto, &fill.variant),
            ("matrix.format", matrix.format != Choice::Auto, &matrix.format),
            ("matrix.values", matrix.values != Precision::F64, &matrix.values),
            ("matrix.lanes", matrix.lanes != RowLanes::Auto, &matrix.lanes),
            ("cg.preconditioner", self.preconditioning().reads_crs(), &self.preconditioning()),
        ];
        given.into_iter().find(|(_, is_given, _)| *is_given).map_or(Ok(()), |(key, _, value)| {
            let why = format!("{} is {value}, and no matrix is stored; leave one of them out", with_flag(key));
            refuse("cg.operator", self.cg.operator, why)
        })
    }

    /// Checks a number of iterations against the criteria that would end a solve before. What has its default value was not asked for.
    fn check_iterations(&self) -> Result<()> {
        let Some(asked) = self.cg.iterations else { return Ok(()) };
        positive("cg.iterations", asked)?;
        if let Some(tolerance) = self.cg.tolerance {
            let tolerance = format!("{} is {tolerance:e}", with_flag("cg.tolerance"));
            return refuse("cg.iterations", asked, tolerance + " too, which may end a solve before; give one of them");
        }
        let most = self.cg.max_iterations;
        let is_fewer = most != super::CgDeck::default().max_iterations && most < asked;
        let why =
            format!("{} is {most} too, which ends a solve before; give one of them", with_flag("cg.max_iterations"));
        refuse_if(is_fewer, "cg.iterations", asked, why)
    }

    /// The nodes of the whole box on `ranks` ranks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the grown box passes 64-bit ids; [`Error::Invalid`] as [`check`](Self::check), and for an even number of nodes along
    /// an edge with elements of degree 2.
    pub fn nodes(&self, ranks: u64) -> Result<Nodes> {
        self.check()?;
        let nodes = match (self.mesh.nodes, self.mesh.nodes_per_rank) {
            (_, Some(share)) => share.grown(ranks),
            (nodes, None) => nodes.map_or_else(|| Nodes::new([self.default_nodes(); 3]), Ok),
        }?;
        let even = nodes.edges().into_iter().find(|edge| edge % 2 == 0).filter(|_| self.mesh.element.nodes() > 8);
        even.map_or(Ok(nodes), |edge| {
            Err(Error::Invalid(format!(
                "mesh.nodes (--nodes): {edge} nodes along an edge: {} has nodes at half cells; give odd numbers, such as {}",
                self.mesh.element,
                edge + 1
            )))
        })
    }

    /// Returns the edges of the box with these nodes. They grow with the nodes when each rank brings a share, so that the elements keep
    /// their shape.
    pub fn size(&self, nodes: Nodes) -> [f64; 3] {
        let Some(share) = self.mesh.nodes_per_rank else { return self.mesh.size };
        let growth = |axis: usize| (nodes.edges()[axis] - 1) as f64 / (share.edges()[axis] - 1) as f64;
        [0, 1, 2].map(|axis| self.mesh.size[axis] * growth(axis))
    }

    /// Returns the files that a run on `ranks` ranks writes, with key and flag.
    pub fn outputs(&self, ranks: usize) -> Vec<NamedFile> {
        let one = |key: &str, path: &Option<PathBuf>| path.clone().map(|path| (with_flag(key), path));
        let report = one("run.report", &self.run.report).filter(|(_, path)| path != Path::new("-"));
        let mut files: Vec<NamedFile> = report.into_iter().chain(one("run.append", &self.run.append)).collect();
        let pieces = self.run.vtk.iter().flat_map(|path| vtu_files(path, ranks));
        files.extend(pieces.map(|path| {
            let name = path.file_name().unwrap_or_default().display();
            (format!("{}: its file {name}", with_flag("run.vtk")), path.clone())
        }));
        files
    }

    /// Returns the box with these numbers of nodes.
    ///
    /// # Errors
    /// Those of [`BoxSpec::new`] and [`BoxSpec::with_imbalance`].
    pub fn spec(&self, nodes: Nodes) -> Result<BoxSpec> {
        // The nodes are checked: what is left to be wrong is their spacing.
        let spec = BoxSpec::new(nodes.edges(), self.size(nodes), self.mesh.map).map_err(|error| match error {
            Error::Invalid(text) => Error::Invalid(format!("{}: {text}", with_flag("mesh.size"))),
            error => error,
        });
        spec?.with_imbalance(self.mesh.imbalance)
    }
}

/// A number without a hundred zeros.
fn short(value: f64) -> String {
    if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") }
}

fn positive(key: &str, value: usize) -> Result<()> {
    refuse_if(value == 0, key, value, "give 1 or more")
}

/// Checks a number of threads on a machine where this rank may use some cores. Threads beyond the cores only take turns.
fn threads(value: usize, cores: usize) -> Result<()> {
    positive("run.threads", value)?;
    let limit = MAX_THREADS.0.max(MAX_THREADS.1.saturating_mul(cores));
    let are = if cores == 1 { "core is" } else { "cores are" };
    let why = format!("{cores} {are} allowed to this rank; give {cores} for full speed, {limit} or fewer");
    refuse_if(value > limit, "run.threads", value, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_by_the_cores_with_advice() {
        for (value, cores, is_fine) in [
            (1, 1, true),
            (64, 1, true),
            (65, 1, false),
            (65, 16, false),
            (65, 17, true),
            (1024, 256, true),
            (1025, 256, false),
        ] {
            assert_eq!(threads(value, cores).is_ok(), is_fine, "{value} threads on {cores} cores");
        }
        let message = threads(4096, 2).unwrap_err().to_string();
        assert_eq!(
            message,
            "run.threads (--threads): 4096: 2 cores are allowed to this rank; give 2 for full speed, 64 or fewer"
        );
        assert!(threads(0, 2).is_err() && threads(usize::MAX, usize::MAX).is_ok());
    }
}
