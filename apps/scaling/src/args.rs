//! The command line of the study.

use crate::study::peer::Peer;
use crate::study::plan::MOST_RANKS;
use clap::{Args as Flags, Parser, Subcommand, ValueEnum, ValueHint};
use minifenl::run::deck::Nodes;
use std::path::PathBuf;

const ABOUT: &str = "\
Weak- and strong-scaling studies of minifenl.

Runs minifenl over ranks x threads (or GPUs) with repeats, one report per run in a folder. A study that was interrupted goes on \
where it ended. The folder then holds tables (CSV, JSON, Markdown) and one HTML report.";

const EXAMPLES: &str = "\
Examples:
  minifenl-scaling weak --ranks 1,2,4,8,16 --nodes-per-rank 64 --out weak
  minifenl-scaling strong --ranks 1,2,4 --threads 1,4 --nodes 128 --out strong
  minifenl-scaling weak --ranks 1,64,512 --nodes-per-rank 64 \\
      --emit slurm --out weak && bash weak/jobs/submit.sh
  minifenl-scaling weak --ranks 1,2,4 --nodes-per-rank 64 --imbalance 0,50 \\
      --out uneven
  minifenl-scaling strong --workers 16 --ranks 1,4,16 --nodes 128 --out shared
  minifenl-scaling report weak
  minifenl-scaling compare old new --figure both.svg
  minifenl-scaling model --bandwidth 10 --latency 2 --link 5 --flops 30 \\
      --nodes-per-rank 64
  minifenl-scaling weak --ranks 1,2 --nodes-per-rank 256 --device cuda \\
      --out gpus -- --halo nccl

Exit codes: 0 done, 2 bad usage or input, 3 a run failed or is missing, 1 any other failure.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "minifenl-scaling", version, about = ABOUT, long_about = None, after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The box grows with the ranks
    Weak {
        /// Nodes along the edges of each rank's share, 64 or 64x48x32
        #[arg(long, value_name = "N")]
        nodes_per_rank: Nodes,
        /// What both kinds have.
        #[command(flatten)]
        runs: Runs,
    },
    /// The box stays the same
    Strong {
        /// Nodes along the edges of the box, 64 or 64x48x32
        #[arg(long, value_name = "N")]
        nodes: Nodes,
        /// What both kinds have.
        #[command(flatten)]
        runs: Runs,
    },
    /// Make tables and report again from the runs in a folder
    Report {
        /// Folder of a study
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Predict the CG iteration of a machine from four numbers
    Model(Model),
    /// Put two studies side by side
    Compare {
        /// Folder of a study
        #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
        a: PathBuf,
        /// Folder of another one
        #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
        b: PathBuf,
        /// Draw the CG iterations of both, and of other programs beside them
        #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
        figure: Option<PathBuf>,
    },
}

/// A machine, and the boxes to predict.
#[derive(Debug, Flags)]
pub struct Model {
    /// Memory bandwidth of a rank, GB/s
    #[arg(long, value_name = "B", value_parser = amount)]
    pub bandwidth: f64,
    /// Latency of a message, microseconds
    #[arg(long, value_name = "L", value_parser = amount)]
    pub latency: f64,
    /// Bandwidth of a rank to others, GB/s
    #[arg(long, value_name = "W", value_parser = amount)]
    pub link: f64,
    /// Flops of a rank, GFLOP/s
    #[arg(long, value_name = "F", value_parser = amount)]
    pub flops: f64,
    /// Numbers of ranks [default: 1 to 100000]
    #[arg(long, value_name = "P,...", value_delimiter = ',', value_parser = ranks)]
    pub ranks: Vec<usize>,
    /// Nodes along the edges of each rank's share (weak scaling) [default: 64]
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    pub nodes_per_rank: Option<Nodes>,
    /// Nodes along the edges of the box (strong scaling)
    #[arg(long, value_name = "N")]
    pub nodes: Option<Nodes>,
    /// Imbalance of the boxes: rank 0 owns P % more nodes than the mean [default: 0]
    #[arg(long, value_name = "P", default_value = "0", hide_default_value = true)]
    pub imbalance: u32,
    /// All-reduces of a CG iteration: 2 for classic CG, 1 for single-reduction
    #[arg(long, value_name = "N", default_value = "2", value_parser = count)]
    pub reductions: usize,
}

/// Instead of running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// Job scripts for SLURM
    Slurm,
}

/// The runs of a study.
#[derive(Debug, Flags)]
pub struct Runs {
    /// Numbers of ranks
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_value = "1,2", value_parser = count)]
    pub ranks: Vec<usize>,
    /// Numbers of threads per rank
    #[arg(long, value_name = "T,...", value_delimiter = ',', default_value = "1", value_parser = count)]
    pub threads: Vec<usize>,
    /// Give each number of ranks N / ranks threads instead: the same cores shared in several ways
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "threads")]
    pub workers: Option<usize>,
    /// Imbalances of the boxes, per cent: rank 0 owns that many more nodes than the mean; 0 is always among them
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_value = "0")]
    pub imbalance: Vec<u32>,
    /// Runs per point
    #[arg(long, value_name = "N", default_value = "3", value_parser = count)]
    pub repeats: usize,
    /// Device of each rank, as minifenl takes it: cpu, cuda
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Folder of the study
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// The program minifenl, built with MPI [default: the one beside this program, else that of the PATH]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    pub program: Option<PathBuf>,
    /// Words that start ranks, such as "srun -n {ranks} -c {threads}" [default: mpirun of Open MPI, ranks bound to cores]
    #[arg(long, value_name = "WORDS")]
    pub launcher: Option<String>,
    /// Run another program on the same boxes, too: minife=PATH, or fenl=PATH (Kokkos FENL)
    #[arg(long, value_name = "NAME=PATH")]
    pub peer: Vec<Peer>,
    /// Write job scripts into the folder and stop
    #[arg(long, value_name = "SYSTEM")]
    pub emit: Option<Emit>,
    /// Time limit of each job script
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    pub minutes: u32,
    /// More flags for minifenl
    #[arg(last = true, value_name = "FLAGS", allow_hyphen_values = true)]
    pub flags: Vec<String>,
}

/// Numbers of a machine in the units of the flags: times and rates computed from them are finite and above 0.
fn amount(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (1e-9..=1e9).contains(value))
        .ok_or_else(|| "expected a number from 1e-9 to 1e9".into())
}

fn ranks(text: &str) -> Result<usize, String> {
    count(text).and_then(|ranks| match ranks <= MOST_RANKS {
        true => Ok(ranks),
        false => Err(format!("expected at most {MOST_RANKS}")),
    })
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "expected a whole number, 1 or more".into())
}

impl Runs {
    /// The program to run.
    pub fn program(&self) -> PathBuf {
        let beside = || Some(std::env::current_exe().ok()?.parent()?.join("minifenl")).filter(|path| path.is_file());
        self.program.clone().or_else(beside).unwrap_or_else(|| "minifenl".into())
    }
}
