//! The command line of the sweep.

use crate::sweep::Table;
use clap::{Parser, ValueHint};
use clap_complete::Shell;
use minifenl::files::NamedFile;
use minifenl::run::Device;
use minifenl::run::clock::Effort;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
The nine tensor contractions, measured and drawn.

Runs decks: kernel x variant x layout x precision x extents x memory size. Each becomes a table (CSV, JSON) and figures (SVG, \
PNG) with bytes, flops, the fraction of the roofline and the speedup over serial code. Results are compared before they are \
timed.";

const EXAMPLES: &str = "\
Examples:
  minifenl-contractions inputs/contractions/figure-3.1.toml
  minifenl-contractions inputs/contractions/*.toml --device cuda \\
      --out docs/contractions
  minifenl-contractions inputs/contractions/*.toml --redraw \\
      --out docs/contractions
  minifenl-contractions --claims docs/contractions/*.csv \\
      --to docs/contractions/claims.md

Exit codes: 0 done, 2 bad usage or input (including a device that is not available), 3 a result was wrong, 1 any other failure.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "minifenl-contractions", version, about = ABOUT, long_about = None, after_help = EXAMPLES)]
pub struct Args {
    /// Decks (TOML); their format: docs/contractions/README.md, "A deck of your own"
    #[arg(value_name = "DECK", value_hint = ValueHint::FilePath)]
    #[cfg_attr(feature = "cuda", arg(required_unless_present_any = ["claims", "learn", "completions"]))]
    #[cfg_attr(not(feature = "cuda"), arg(required_unless_present_any = ["claims", "completions"]))]
    pub decks: Vec<PathBuf>,
    /// Where to compute: auto, cpu, cuda, cuda:K; on the cpu only the host's variants run
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: Device,
    /// Threads of the host [default: the cores allowed to it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Folder for tables and figures
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Small sizes and few samples, to see that all works
    #[arg(long)]
    pub quick: bool,
    /// Overwrites tables of a GPU from a run without one, and full tables with `--quick`.
    #[arg(long)]
    pub force: bool,
    /// Draw the figures of the decks again from their tables in the folder, and stop
    #[arg(long)]
    pub redraw: bool,
    /// Print the report's claims beside what these tables (CSV) say, and stop
    #[arg(long, value_name = "CSV", num_args = 1.., value_hint = ValueHint::FilePath, conflicts_with_all = ["decks", "redraw"])]
    pub claims: Vec<PathBuf>,
    /// Print what the variant auto learns from these tables (src/contraction/auto.csv), and stop
    #[cfg(feature = "cuda")]
    #[arg(long, value_name = "CSV", num_args = 1.., value_hint = ValueHint::FilePath, conflicts_with_all = ["decks", "redraw", "claims"])]
    pub learn: Vec<PathBuf>,
    /// Write what --claims or --learn prints to this file, whole or not at all
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["decks", "redraw"])]
    pub to: Option<PathBuf>,
    /// Print completions for bash, elvish, fish, powershell or zsh, and stop
    #[arg(long, value_name = "SHELL", hide_possible_values = true)]
    pub completions: Option<Shell>,
}

impl Args {
    /// Of each measurement.
    pub fn effort(&self) -> Effort {
        match self.quick {
            true => Effort { seconds: 0.002, samples: [1, 3] },
            false => Effort { seconds: 0.1, samples: [5, 50] },
        }
    }

    /// The tables that are only read, and the file of the answer.
    pub fn answered(&self) -> Vec<NamedFile> {
        let tables = self.claims.iter();
        #[cfg(feature = "cuda")]
        let tables = tables.chain(&self.learn);
        let tables = tables.map(|path| (path.display().to_string(), path.clone()));
        tables.chain(self.to.clone().map(|path| ("--to".into(), path))).collect()
    }

    /// The tables that answer the claims, by their names without the ending.
    pub fn claimed(&self) -> minifenl::Result<Vec<(String, Table)>> {
        let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.claims.iter().map(|path| Ok((name(path), Table::read(path)?))).collect()
    }

    /// Numbers in the copies that give the bandwidth of the host and of the GPU.
    pub fn copies(&self) -> [usize; 2] {
        if self.quick { [1 << 18, 1 << 22] } else { [1 << 25, 1 << 27] }
    }
}
