//! Subcommands of `minifenl`, each with its flags.

use super::Flags;
use super::names::{auto_or, named};
use clap::{Args, Subcommand, ValueHint};
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{Deck, Device, Nodes, Preset};
use std::path::PathBuf;

/// Commands other than a run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare all strategies for graph, assembly and product on one mesh and device: times, memory, bits
    Strategies(Strategies),
    /// Measure the time per node of graph, fill and CG against the number of nodes
    Sweep(Box<Sweep>),
    /// Check a device: every stage, patch tests, orders of convergence
    Verify(Verify),
    /// Compare the times of two reports, phase by phase, and show what differs between their runs
    Compare(Compare),
}

/// The flags of `strategies`.
#[derive(Debug, Args)]
pub struct Strategies {
    /// Nodes along the edges of the box, 64 or 64x48x32 [default: 64]
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    nodes: Option<Nodes>,
    /// Nodes along the edges of each rank's share (weak scaling)
    #[arg(long, value_name = "N", conflicts_with = "nodes", value_hint = ValueHint::Other)]
    nodes_per_rank: Option<Nodes>,
    /// Coordinate map: none, bubble[:M], twist[:A] [default: none]
    #[arg(long, value_name = "MAP", value_parser = named::<CoordinateMap>(["none", "bubble", "twist"]), hide_possible_values = true)]
    map: Option<CoordinateMap>,
    /// Device: auto, cpu, cuda (one GPU per rank), cuda:K [default: auto: a GPU for each rank if all have one, else cpu]
    #[arg(long, value_name = "DEVICE", value_parser = auto_or::<Device>(["cpu", "cuda"]), hide_possible_values = true)]
    device: Option<Device>,
    /// Let several ranks use one GPU
    #[arg(long)]
    share_gpu: bool,
    /// Threads per rank [default: the cores allowed to the rank]
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    threads: Option<usize>,
    /// Rounds of each strategy; times are medians
    #[arg(long, value_name = "N", default_value = "5", value_hint = ValueHint::Other, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// End the job if a rank waits longer for other ranks [default: no limit]
    #[arg(long, value_name = "SECONDS", value_hint = ValueHint::Other)]
    timeout: Option<f64>,
    /// Write the numbers as JSON, or as YAML if FILE ends with .yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report: Option<PathBuf>,
}

impl Strategies {
    /// The mesh and the device as a deck, checked.
    pub fn deck(&self) -> minifenl::Result<Deck> {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.mesh.nodes_per_rank) = (self.nodes, self.nodes_per_rank);
        deck.mesh.map = self.map.unwrap_or_default();
        deck.run.device = self.device.unwrap_or_default();
        deck.run.share_gpu = self.share_gpu;
        (deck.run.threads, deck.run.timeout) = (self.threads, self.timeout);
        deck.run.report = self.report.clone();
        deck.check()?;
        Ok(deck)
    }
}

/// The flags of `verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Algorithms of the orders and patch tests: papers, fast [default: papers]
    #[arg(long, value_name = "PRESET", value_parser = named::<Preset>(Preset::ALL.map(|(_, name)| name)), hide_possible_values = true)]
    preset: Option<Preset>,
    /// Device: auto, cpu, cuda (one GPU per rank), cuda:K [default: auto: a GPU if there is one, else cpu]
    #[arg(long, value_name = "DEVICE", value_parser = auto_or::<Device>(["cpu", "cuda"]), hide_possible_values = true)]
    device: Option<Device>,
    /// Threads [default: the cores allowed]
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    threads: Option<usize>,
    /// Write the checks as JSON, or as YAML if FILE ends with .yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report: Option<PathBuf>,
}

impl Verify {
    /// The device and the algorithms as a deck, checked.
    pub fn deck(&self) -> minifenl::Result<Deck> {
        let mut deck = Deck::default();
        deck.run.preset = self.preset.unwrap_or_default();
        (deck.run.device, deck.run.threads) = (self.device.unwrap_or_default(), self.threads);
        deck.run.report = self.report.clone();
        deck.check()?;
        Ok(deck)
    }
}

/// The flags of `sweep`, with those of the runs.
#[derive(Debug, Args)]
#[command(after_help = SWEEP)]
// A sweep has sizes of its own, and writes tables of its own.
#[command(mut_args(|flag| match flag.get_id().as_str() {
    "append" | "vtk" | "nodes_per_rank" => flag.hide(true),
    "report" => flag.help("Write the reports of all runs as JSON, or as YAML if FILE ends with .yaml"),
    _ => flag,
}))]
pub struct Sweep {
    /// Runs of each size; times are medians
    #[arg(long, value_name = "N", default_value = "5", value_hint = ValueHint::Other, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub trials: u16,
    /// Run each size with every value of a flag, such as fill=scatter,gather or advection=1,0,0,0,0,1
    #[arg(long, value_name = "FLAG=A,B", value_parser = values, value_hint = ValueHint::Other)]
    pub compare: Option<(String, Vec<String>)>,
    /// Write a row per run as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub csv: Option<PathBuf>,
    /// Draw time per node against nodes as SVG, into a FILE that ends with .svg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub figure: Option<PathBuf>,
    /// The flags of a run
    #[command(flatten)]
    pub flags: Flags,
}

const SWEEP: &str = "\
Example:
  minifenl sweep --nodes 16,32,64 --compare fill=scatter,gather --figure a.svg

A run that ends with an error ends the sweep; what was measured before is kept.";

fn values(text: &str) -> Result<(String, Vec<String>), String> {
    let (flag, values) = text.split_once('=').unwrap_or_default();
    let words: Vec<&str> = values.split(',').collect();
    // Those of three numbers have commas themselves.
    let values = words.chunks(if ["advection", "size"].contains(&flag) { 3 } else { 1 });
    let values: Vec<String> = values.map(|value| value.join(",")).collect();
    let is_good = !flag.is_empty() && values.len() > 1 && values.iter().all(|value| !value.is_empty());
    let why = "expected a flag and two values or more, such as fill=scatter,gather or advection=1,0,0,0,0,1";
    is_good.then(|| (flag.into(), values)).ok_or_else(|| why.into())
}

/// The flags of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Report of the first run (JSON)
    #[arg(value_name = "A.json", value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// Report of the second run (JSON)
    #[arg(value_name = "B.json", value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// End with code 4 if a phase with 5 % of the time or more takes more than RATIO times as long in B, with 3 if one of the runs failed
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    pub fail_above: Option<f64>,
}

fn ratio(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|ratio: &f64| *ratio > 0.0 && ratio.is_finite());
    number.ok_or_else(|| "expected a number above 0, such as 1.1".into())
}
