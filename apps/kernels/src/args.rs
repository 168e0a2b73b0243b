//! The command line of the suite.

use clap::{Parser, ValueEnum, ValueHint};
use minifenl::files::NamedFile;
use minifenl::run::Device;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Kernels of Kokkos' papers on the layer of minifenl, beside the same loops written by hand.

Each kernel runs over its sizes on 1 thread and on all, or on a GPU. A table has the time of a call, GB/s, the fraction of the \
measured triad, and the time over that of the loop by hand in the same run. docs/kernels.md says what each measures.";

const EXAMPLES: &str = "\
Examples:
  minifenl-kernels                 everything, in two minutes on two cores
  minifenl-kernels vectors --most 1e6
  minifenl-kernels gram-schmidt --threads 4
  minifenl-kernels --device cuda --json kernels.json --figures figures

Exit codes: 0 done, 2 bad usage or input (including a device that is not available), 3 a result was wrong, 1 any other failure.";

/// Most items: a GPU's loops count them with 31 bits.
const MOST: f64 = 2147483647.0;

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// axpby, triad, dot, centroid, prefix sum: 10^3 to 10^8 items
    Vectors,
    /// Product with a CRS matrix and CG on boxes: 10^3 to 10^6 nodes
    Sparse,
    /// Modified Gram-Schmidt of 16 vectors: 10^3 to 10^7 items
    GramSchmidt,
    /// Forces by full and half lists in both layouts: 4000 to 864,000 atoms
    LennardJones,
    /// Atomic, compare-and-swap and racy additions: 10^3 to 10^7 cells
    Atomics,
    /// Copies beside kernels on 1, 2 and 4 streams: 10^5 to 10^7 items; on hosts 10^3 and 10^4
    Streams,
}

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "minifenl-kernels", version, about = ABOUT, long_about = None, after_help = EXAMPLES)]
pub struct Args {
    /// Parts to run [default: all]
    #[arg(value_name = "PART")]
    pub parts: Vec<Part>,
    /// Where to compute: cpu, cuda, cuda:K, or auto
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Numbers of threads [default: 1 and the cores allowed to this process]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Vec<u16>,
    /// Leave out sizes above this many items, such as 1e6
    #[arg(long, value_name = "N", default_value = "1e8", value_parser = items)]
    pub most: usize,
    /// Seconds per measurement, about
    #[arg(long, value_name = "S", default_value = "0.1", value_parser = seconds)]
    pub seconds: f64,
    /// Write the table with machine and build as JSON; - is the standard output (the table goes to stderr)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Draw each kernel into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub figures: Option<PathBuf>,
}

fn items(text: &str) -> Result<usize, String> {
    let number = text.parse::<f64>().ok().filter(|number| (1.0..=MOST).contains(number) && number.fract() == 0.0);
    number.map(|number| number as usize).ok_or_else(|| "expected a whole number from 1 to 2147483647".into())
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=60.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 60".into())
}

impl Args {
    /// Whether a part runs.
    pub fn has(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// Whether the JSON goes to the standard output.
    pub fn has_json_on_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// The files that a run writes.
    pub fn files(&self) -> Vec<NamedFile> {
        let json = self.json.iter().filter(|_| !self.has_json_on_stdout());
        json.map(|path| ("--json".into(), path.clone())).collect()
    }
}
