//! The flags of `minifenl`; each overrides its key of the deck.

#[path = "commands.rs"]
pub mod commands;
#[path = "names.rs"]
mod names;

use clap::ColorChoice as Colour;
use clap::{ArgAction, Parser, ValueHint};
use clap_complete::Shell;
use commands::Command;
use minifenl::Error;
use minifenl::comm::Transport;
use minifenl::contraction::Variant;
use minifenl::element::ElementType;
use minifenl::element::equations::Jacobian;
use minifenl::files::NamedFile;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{
    Choice, Deck, Device, Forcing, Nodes, Operator, Preconditioning, Preset, ProblemKind, RowLanes, Solver,
};
use minifenl::solve::CgVariant;
use minifenl::space::{Layout, Scan};
use minifenl::sparse::{Format, Precision};
use minifenl::{fill, graph};
use names::{auto_or, named, volume};
use std::path::PathBuf;

const ABOUT: &str = "\
Parallel finite-element assembly and solution, measured.

Solves a problem on a box by Newton's method and conjugate gradients and compares the answer with an exact solution. The default is \
-K laplace(T) + T^2 = 0 on trilinear hexahedra, with T given at zmin and zmax and no flux elsewhere; --problem and --element select \
others.";

const EXAMPLES: &str = "\
Examples:
  minifenl                                    64 nodes per edge, all cores
  minifenl --nodes 64x48x32 --map twist:0.5   non-affine elements
  minifenl --problem elasticity --element tet10 --nodes 33
                                              another equation and element
  minifenl --preset fast                      the fastest algorithms
  minifenl --input inputs/twist.toml --triad  a deck; fractions of the triad
  minifenl strategies --nodes 64              all strategies, compared
  minifenl sweep --nodes 16,32,64 --trials 5 --figure sweep.svg
                                              time per node against nodes
  minifenl compare a.json b.json              two reports, phase by phase
  minifenl verify --device cuda               a new machine: stages, orders
  minifenl --nodes 256 --device cuda:1        the second GPU, or an error
  mpirun -n 2 minifenl --nodes 256            one GPU per rank if there are 2
  mpirun -n 4 minifenl --nodes 400 --dry-run  memory forecast, no run
  mpirun -n 4 minifenl --nodes 64             4 ranks share the box
  mpirun -n 8 minifenl --nodes-per-rank 48    the box grows with the ranks

Exit codes: 0 solved and verified, not judged (--cg-iterations), or a run that fits (--dry-run); 2 bad usage or input (including a device that is not available or too little memory), 3 not converged or not verified, 4 a phase slower than allowed (compare), 1 any other failure.";

/// The command line.
#[derive(Debug, Parser)]
#[command(version, about = ABOUT, long_about = None, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Args {
    /// Command instead of a run
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags of a run
    #[command(flatten)]
    pub flags: Flags,
    /// Print the memory that each stage would need and whether it is free, and stop (no report is written)
    #[arg(long, group = "instead")]
    pub dry_run: bool,
    /// Print the deck that results from the flags, and stop
    #[arg(long, group = "instead")]
    pub dump_deck: bool,
    /// Print registers, memory and occupancy of every kernel on the GPU (--device), and stop
    #[arg(long, group = "instead")]
    pub kernel_info: bool,
    /// Print the man page (roff), and stop
    #[arg(long, group = "instead")]
    pub man: bool,
    /// Print completions for bash, elvish, fish, powershell or zsh, and stop
    #[arg(long, value_name = "SHELL", group = "instead", hide_possible_values = true)]
    pub completions: Option<Shell>,
}

/// The flags of a run, for the commands that do runs.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// Deck (TOML) with the settings; flags override it
    #[arg(long, value_name = "DECK", value_hint = ValueHint::FilePath)]
    input: Option<PathBuf>,
    /// Algorithms of what is left at auto: papers (pair map, atomic scatter-add, Intrepid's contractions, CRS, a warp per row), fast [default: papers]
    #[arg(long, value_name = "NAME", value_parser = named::<Preset>(Preset::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    preset: Option<Preset>,
    /// Nodes along the edges of the box, 64 or 64x48x32 [default: 64, or 65 for elements of degree 2]; `sweep` takes several, with commas
    #[arg(long, value_name = "N", action = ArgAction::Set, value_delimiter = ',', value_hint = ValueHint::Other)]
    pub nodes: Vec<Nodes>,
    /// Nodes per rank along the edges of its box (weak scaling)
    #[arg(long, value_name = "N", conflicts_with = "nodes", value_hint = ValueHint::Other)]
    nodes_per_rank: Option<Nodes>,
    /// Problem: heat, poisson, diffusion, elasticity, minife [default: heat]
    #[arg(long, value_name = "NAME", value_parser = named::<ProblemKind>(ProblemKind::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    problem: Option<ProblemKind>,
    #[arg(long, value_name = "TYPE", help = format!("Elements: {} [default: hex8]", ElementType::volume_names()), value_parser = volume(), hide_possible_values = true)]
    element: Option<ElementType>,
    /// Coordinate map: none, bubble[:M], twist[:A] [default: none]
    #[arg(long, value_name = "MAP", value_parser = named::<CoordinateMap>(["none", "bubble", "twist"]), hide_possible_values = true)]
    map: Option<CoordinateMap>,
    /// Edges of the box [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = three_numbers, value_hint = ValueHint::Other)]
    size: Option<[f64; 3]>,
    /// Uneven boxes: rank 0 of several ranks owns about P % more nodes than the mean [default: 0]
    #[arg(long, value_name = "P", value_parser = number, value_hint = ValueHint::Other)]
    imbalance: Option<f64>,
    /// Temperature at zmin [default: 1]
    #[arg(long, value_name = "T", value_parser = number, value_hint = ValueHint::Other)]
    t_min: Option<f64>,
    /// Temperature at zmax [default: 2]
    #[arg(long, value_name = "T", value_parser = number, value_hint = ValueHint::Other)]
    t_max: Option<f64>,
    /// Velocity of the term v . grad u, of heat, poisson and diffusion [default: 0,0,0]
    #[arg(long, value_name = "X,Y,Z", value_parser = three_numbers, value_hint = ValueHint::Other)]
    advection: Option<[f64; 3]>,
    /// Graph strategy: auto, map, dashmap, gather, sort [default: auto: map; gather with --preset fast]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<graph::Strategy>>(graph::Strategy::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    graph: Option<Choice<graph::Strategy>>,
    /// Prefix sum of row lengths on a host: auto, serial, parallel [default: auto: parallel; with --preset fast for many rows on several threads]
    #[arg(long, value_name = "NAME", value_parser = named::<Scan>(Scan::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    scan: Option<Scan>,
    /// Fill strategy: auto, scatter, gather, and on hosts colour [default: auto: scatter; with --preset fast gather on a GPU, else colour]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<fill::Strategy>>(fill::Strategy::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    fill: Option<Choice<fill::Strategy>>,
    /// Element kernel: auto, intrepid, table, fused (heat on hex8 without advection only) [default: auto: intrepid; with --preset fast fused where it exists]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<fill::Kernel>>(fill::Kernel::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    kernel: Option<Choice<fill::Kernel>>,
    /// Cells per workset of --kernel intrepid [default: as many as suit the caches]
    #[arg(long, value_name = "CELLS", value_parser = count, value_hint = ValueHint::Other)]
    workset: Option<usize>,
    /// Order of a workset's arrays: auto, left (cells fastest), right (cells slowest) [default: auto: the faster one]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Layout>>(Layout::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    layout: Option<Choice<Layout>>,
    /// Contractions of --kernel intrepid on a GPU: auto or a variant, such as flat, tile-4x4, dmma [default: auto: by measured times]
    #[arg(long, value_name = "NAME", value_parser = named::<Variant>(Variant::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    variant: Option<Variant>,
    /// Derivatives of the equation: analytic (by hand), ad (dual numbers of the residual at each point) [default: analytic]
    #[arg(long, value_name = "NAME", value_parser = named::<Jacobian>(Jacobian::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    jacobian: Option<Jacobian>,
    /// Newton's tolerance, relative to the first residual [default: 1e-8; tighter above 384 nodes along an edge]
    #[arg(long, value_name = "TOL", value_parser = number, value_hint = ValueHint::Other)]
    newton_tolerance: Option<f64>,
    /// Largest number of Newton steps [default: 10]
    #[arg(long, value_name = "N", value_parser = count, value_hint = ValueHint::Other)]
    newton_max: Option<usize>,
    /// Accuracy of each Newton step's solve: auto, fixed (CG's tolerance), adaptive (as far as the step can use) [default: auto: fixed; adaptive with --preset fast and mg or amg, and with mg and no matrix]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Forcing>>(Forcing::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    forcing: Option<Choice<Forcing>>,
    /// CG's tolerance, relative to the right-hand side [default: 1e-8, or 1e-11 for elements of degree 2]
    #[arg(long, value_name = "TOL", value_parser = number, value_hint = ValueHint::Other)]
    cg_tolerance: Option<f64>,
    /// Largest number of CG iterations per Newton step [default: 10000]
    #[arg(long, value_name = "N", value_parser = count, value_hint = ValueHint::Other)]
    cg_max: Option<usize>,
    /// Do exactly N CG iterations per Newton step; the result is not judged (as in miniFE and HPCG)
    #[arg(long, value_name = "N", value_parser = count, value_hint = ValueHint::Other)]
    cg_iterations: Option<usize>,
    /// Krylov method: auto, cg, gmres (restarted after 30 iterations), bicgstab [default: auto: cg; with --advection gmres]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Solver>>(Solver::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    solver: Option<Choice<Solver>>,
    /// CG variant: auto, classic, single-reduction [default: auto: classic; with --preset fast one launch for small systems on a GPU]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<CgVariant>>(CgVariant::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    cg_variant: Option<Choice<CgVariant>>,
    /// Operator of CG: assembled (a stored matrix), matrix-free (products by elements, no matrix or graph) [default: assembled]
    #[arg(long, value_name = "NAME", value_parser = named::<Operator>(Operator::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    operator: Option<Operator>,
    /// Preconditioner of CG: auto, none, jacobi, chebyshev, gauss-seidel (by colours), ic0 (incomplete Cholesky), mg (multigrid), amg (algebraic) [default: auto: none; with --preset fast mg for many unknowns]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Preconditioning>>(Preconditioning::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    preconditioner: Option<Choice<Preconditioning>>,
    /// Device: auto, cpu, cuda (one GPU per rank), cuda:K [default: auto: a GPU for each rank if all have one, else cpu]
    #[arg(long, value_name = "DEVICE", value_parser = auto_or::<Device>(["cpu", "cuda"]), hide_possible_values = true)]
    device: Option<Device>,
    /// Storage format of the matrix: auto, crs, pattern, symmetric [default: auto: crs; with --preset fast by size and symmetry]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Format>>(Format::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    format: Option<Choice<Format>>,
    /// Type of the matrix values that products read: f64, f32 [default: f64]
    #[arg(long, value_name = "NAME", value_parser = named::<Precision>(Precision::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    matrix: Option<Precision>,
    /// Threads per row in products with --format crs on a GPU: auto, warp, 1, 2, 4, 8, 16, 32 [default: auto]
    #[arg(long, value_name = "N", value_parser = named::<RowLanes>(RowLanes::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    lanes: Option<RowLanes>,
    /// Let several ranks use one GPU
    #[arg(long)]
    share_gpu: bool,
    /// Transport between ranks: auto, mpi (CPU); peer, nccl, staged, mpi-device (GPUs) [default: auto]
    #[arg(long, value_name = "NAME", value_parser = auto_or::<Choice<Transport>>(Transport::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    halo: Option<Choice<Transport>>,
    /// Give the same bits for the same number of ranks, with any transport and number of threads
    #[arg(long)]
    deterministic: bool,
    /// Threads per rank [default: the cores allowed to the rank]
    #[arg(long, value_name = "N", value_parser = count, value_hint = ValueHint::Other)]
    threads: Option<usize>,
    /// Limit for waiting on other ranks; then the job ends [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = number, value_hint = ValueHint::Other)]
    timeout: Option<f64>,
    /// Write the report as JSON, or as YAML if FILE ends with .yaml or .yml; - is the standard output (the table goes to stderr)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report: Option<PathBuf>,
    /// Append a row with the results to a CSV table
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    append: Option<PathBuf>,
    /// Write mesh, solution and error for ParaView into a FILE that ends with .vtu; several ranks write a piece each, and a .pvtu
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    vtk: Option<PathBuf>,
    /// Measure the triad bandwidth and report each phase as a fraction of it [default: if it takes less than 2 % of the run]
    #[arg(long, overrides_with = "no_triad")]
    triad: bool,
    /// Do not measure the triad bandwidth; of both flags the last one counts
    #[arg(long, overrides_with = "triad")]
    no_triad: bool,
    /// Print the verdict only: no progress, notes or table
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print a line with the time for each phase and Newton step, and each second of CG, on stderr
    #[arg(long)]
    pub verbose: bool,
    /// Colours: auto, always, never [default: auto: on terminals, unless NO_COLOR is set or a launcher started the program]
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_default_value = true, hide_possible_values = true)]
    pub color: Colour,
}

impl Flags {
    /// Returns the checked deck with the flags applied.
    pub fn deck(&self) -> minifenl::Result<Deck> {
        match self.nodes[..] {
            [] => self.deck_of(None),
            [nodes] => self.deck_of(Some(nodes)),
            _ => Err(Error::Invalid("--nodes: a run has one size; `minifenl sweep` takes several".into())),
        }
    }

    /// [`deck`](Self::deck), with `nodes` for those of the flags.
    pub fn deck_of(&self, nodes: Option<Nodes>) -> minifenl::Result<Deck> {
        let mut deck = self.input.as_deref().map_or_else(|| Ok(Deck::default()), Deck::read)?;
        set(&mut deck.run.preset, self.preset);
        if let Some(nodes) = nodes {
            (deck.mesh.nodes, deck.mesh.nodes_per_rank) = (Some(nodes), None);
        }
        if let Some(share) = self.nodes_per_rank {
            (deck.mesh.nodes, deck.mesh.nodes_per_rank) = (None, Some(share));
        }
        set(&mut deck.mesh.size, self.size);
        set(&mut deck.mesh.imbalance, self.imbalance);
        set(&mut deck.problem.kind, self.problem);
        set(&mut deck.mesh.element, self.element);
        set(&mut deck.mesh.map, self.map);
        set(&mut deck.problem.t_min, self.t_min);
        set(&mut deck.problem.t_max, self.t_max);
        set(&mut deck.problem.advection, self.advection);
        set(&mut deck.graph.strategy, self.graph);
        set(&mut deck.graph.scan, self.scan);
        set(&mut deck.fill.strategy, self.fill);
        set(&mut deck.fill.kernel, self.kernel);
        deck.fill.workset = self.workset.or(deck.fill.workset);
        set(&mut deck.fill.layout, self.layout);
        set(&mut deck.fill.variant, self.variant);
        set(&mut deck.fill.jacobian, self.jacobian);
        deck.newton.tolerance = self.newton_tolerance.or(deck.newton.tolerance);
        set(&mut deck.newton.max_iterations, self.newton_max);
        set(&mut deck.newton.forcing, self.forcing);
        deck.cg.tolerance = self.cg_tolerance.or(deck.cg.tolerance);
        set(&mut deck.cg.max_iterations, self.cg_max);
        deck.cg.iterations = self.cg_iterations.or(deck.cg.iterations);
        set(&mut deck.cg.solver, self.solver);
        set(&mut deck.cg.variant, self.cg_variant);
        set(&mut deck.cg.operator, self.operator);
        set(&mut deck.cg.preconditioner, self.preconditioner);
        set(&mut deck.matrix.format, self.format);
        set(&mut deck.matrix.values, self.matrix);
        set(&mut deck.matrix.lanes, self.lanes);
        set(&mut deck.run.device, self.device);
        set(&mut deck.run.halo, self.halo);
        deck.run.threads = self.threads.or(deck.run.threads);
        deck.run.timeout = self.timeout.or(deck.run.timeout);
        deck.run.report = self.report.clone().or(deck.run.report);
        deck.run.append = self.append.clone().or(deck.run.append);
        deck.run.vtk = self.vtk.clone().or(deck.run.vtk);
        if self.triad || self.no_triad {
            deck.run.triad = Some(self.triad);
        }
        deck.run.share_gpu |= self.share_gpu;
        deck.run.deterministic |= self.deterministic;
        if deck.mesh.nodes.is_none() && deck.mesh.nodes_per_rank.is_none() {
            deck.mesh.nodes = Some(Nodes::new([deck.default_nodes(); 3])?);
        }
        deck.check()?;
        Ok(deck)
    }

    /// The file of the deck for messages, if there is one.
    pub fn input(&self) -> Option<NamedFile> {
        self.input.clone().map(|path| ("the input deck".into(), path))
    }
}

fn set<T>(key: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *key = value;
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number".into())
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 1 or more".into())
}

fn three_numbers(text: &str) -> Result<[f64; 3], String> {
    let numbers = text.split(',').map(number).collect::<Result<Vec<f64>, String>>();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| "expected three numbers X,Y,Z".into())
}
