//! The command line.

use clap::{Parser, ValueEnum, ValueHint};
use minifenl::comm::Setting;
use minifenl::run::Device;
use std::fmt::Debug;
use std::path::PathBuf;
use std::str::FromStr;

const ABOUT: &str = "\
A Lennard-Jones fluid as miniMD computes it, on threads, a GPU and MPI ranks.

Atoms start on a face-centred cubic lattice, in reduced units, and move by velocity Verlet in a periodic box. Lines of step, \
temperature T, potential energy U per atom, pressure P and seconds follow, then a line PERF_SUMMARY. docs/minimd.md says more.";

const EXAMPLES: &str = "\
Examples:
  minifenl-minimd --cells 32 --steps 100
  minifenl-minimd -n 32 --lists full --threads 2 --json run.json
  minifenl-minimd -n 64x64x32 --device cuda
  mpirun -n 4 minifenl-minimd -n 32 --threads 1

Exit codes: 0 done, 2 bad usage or input (a box too small, a time step too long, a device that is not available), 1 any other failure.";

/// Cells along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells(pub [usize; 3]);

impl FromStr for Cells {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<usize>> =
            text.split('x').map(|part| part.parse().ok().filter(|cells| (1..=600).contains(cells))).collect();
        match numbers.as_deref() {
            Some(&[n]) => Ok(Cells([n; 3])),
            Some(&[x, y, z]) => Ok(Cells([x, y, z])),
            _ => Err("expected N or NxNxN with numbers from 1 to 600".into()),
        }
    }
}

/// Neighbour lists: each pair in one, whose force is added to both atoms, or all neighbours of each atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lists {
    Auto,
    Half,
    Full,
}

impl Lists {
    /// Whether lists are half, on a host or on a GPU.
    pub fn is_half(self, is_host: bool) -> bool {
        self == Lists::Half || self == Lists::Auto && is_host
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    Yes,
    No,
}

impl Answer {
    /// Whether it is yes.
    pub fn is_yes(self) -> bool {
        self == Answer::Yes
    }
}

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "minifenl-minimd", version, about = ABOUT, long_about = None, after_help = EXAMPLES)]
pub struct Args {
    /// Cells of the lattice along each edge, 4 atoms each: N or NxNxN
    #[arg(short = 'n', long, value_name = "N", default_value = "32")]
    pub cells: Cells,
    /// Time steps
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole)]
    pub steps: usize,
    /// Length of a time step
    #[arg(long, value_name = "T", default_value = "0.005", value_parser = positive)]
    pub dt: f64,
    /// Neighbour lists: half has each pair once, full twice; auto is half on the CPU, full on a GPU
    #[arg(long, value_name = "LISTS", default_value = "auto")]
    pub lists: Lists,
    /// Sort atoms by bin whenever neighbour lists are rebuilt
    #[arg(long, value_name = "YES", default_value = "yes")]
    pub sort: Answer,
    /// Steps between new neighbour lists
    #[arg(long, value_name = "N", default_value = "20", value_parser = whole)]
    pub rebuild: usize,
    /// Steps between printed states; the last one is always printed
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole)]
    pub thermo: usize,
    /// Atoms per volume
    #[arg(long, value_name = "D", default_value = "0.8442", value_parser = positive)]
    pub density: f64,
    /// Temperature of the first velocities
    #[arg(long, value_name = "T", default_value = "1.44", value_parser = positive)]
    pub temperature: f64,
    /// Cutoff radius of the potential
    #[arg(long, value_name = "R", default_value = "2.5", value_parser = positive)]
    pub cutoff: f64,
    /// Skin: distance added to the cutoff for neighbour lists
    #[arg(long, value_name = "R", default_value = "0.3", value_parser = positive)]
    pub skin: f64,
    /// Where to compute: cpu, cuda, cuda:K, or auto
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Threads of a rank [default: the cores allowed to it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write settings, states and times to this file; `-` is stdout, which sends all else to stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

fn whole(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000_000).contains(number));
    number.ok_or_else(|| "expected a whole number from 1 to 1000000000".into())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (1e-6..=1e6).contains(number));
    number.ok_or_else(|| "expected a number from 1e-6 to 1e6".into())
}

impl Args {
    /// What all ranks have to agree on, by flag.
    pub fn settings(&self) -> Vec<Setting> {
        let Args { cells, steps, dt, lists, sort, rebuild, thermo, density, temperature, cutoff, skin, .. } = self;
        let setting = |flag: &str, value: &dyn Debug| (format!("--{flag}"), format!("{value:?}"));
        vec![
            setting("cells", &cells.0),
            setting("steps", steps),
            setting("dt", dt),
            setting("lists", lists),
            setting("sort", sort),
            setting("rebuild", rebuild),
            setting("thermo", thermo),
            setting("density", density),
            setting("temperature", temperature),
            setting("cutoff", cutoff),
            setting("skin", skin),
            setting("device", &self.device),
            setting("json", &self.json),
        ]
    }

    /// Atoms of all ranks.
    pub fn atoms(&self) -> usize {
        4 * self.cells.0.iter().product::<usize>()
    }
}
