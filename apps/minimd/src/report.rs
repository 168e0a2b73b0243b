//! What a run says: lines of states, a summary, and JSON.

use crate::args::Args;
use crate::space::Space;
use crate::thermo::{State, exponential};
use minifenl::run::provenance::{BuildReport, MachineReport};
use serde::Serialize;

/// The names of the columns of states.
pub const HEAD: &str = "# Timestep T U P Time\n";

/// A state with its step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Steps done.
    pub step: usize,
    /// The state.
    pub state: State,
    /// Seconds since the first step began.
    pub seconds: f64,
}

impl Line {
    /// The line, as miniMD writes it.
    pub fn text(&self) -> String {
        let State { temperature, energy, pressure } = self.state;
        let [t, u, p] = [temperature, energy, pressure].map(exponential);
        format!("{} {t} {u} {p} {:6.3}\n", self.step, self.seconds)
    }
}

/// Seconds of the steps on the first rank. On a GPU launches are asynchronous: only the total holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// All steps.
    pub total: f64,
    /// Forces.
    pub force: f64,
    /// Neighbour lists.
    pub lists: f64,
    /// Ghosts, atoms that change their rank, and sorting.
    pub ranks: f64,
    /// Velocities and positions.
    pub motion: f64,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema_version: u32,
    /// The machine.
    pub machine: MachineReport,
    /// The build of the library.
    pub build: BuildReport,
    /// The space.
    pub space: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Parts of the box along each axis.
    pub grid: [usize; 3],
    /// `half` or `full`.
    pub lists: &'static str,
    /// Whether atoms were sorted.
    pub sort: bool,
    /// Cells along each axis.
    pub cells: [usize; 3],
    /// Atoms of all ranks.
    pub atoms: usize,
    /// Steps.
    pub steps: usize,
    /// Length of a time step.
    pub dt: f64,
    /// Atoms per volume.
    pub density: f64,
    /// First temperature.
    pub temperature: f64,
    /// Cutoff radius of the potential.
    pub cutoff: f64,
    /// Skin: distance added to the cutoff for neighbour lists.
    pub skin: f64,
    /// Steps between new lists.
    pub rebuild: usize,
    /// The states.
    pub states: Vec<Line>,
    /// Change of the energy per atom, potential and kinetic, from the first state to the last.
    pub energy_drift: f64,
    /// Times.
    pub seconds: Seconds,
    /// Atoms times steps over the total.
    pub atom_steps_per_second: f64,
}

impl Report {
    /// The report of a run.
    pub fn new<S: Space>(
        space: &S,
        ranks: usize,
        grid: [usize; 3],
        is_half: bool,
        atoms: usize,
        args: &Args,
        states: Vec<Line>,
        seconds: Seconds,
    ) -> Self {
        let total = |line: Option<&Line>| line.map_or(0.0, |line| line.state.total(atoms));
        Report {
            schema_version: 1,
            energy_drift: total(states.last()) - total(states.first()),
            machine: MachineReport::here(),
            build: BuildReport::default(),
            space: space.label(),
            ranks,
            grid,
            lists: if is_half { "half" } else { "full" },
            sort: args.sort.is_yes(),
            cells: args.cells.0,
            atoms,
            steps: args.steps,
            dt: args.dt,
            density: args.density,
            temperature: args.temperature,
            cutoff: args.cutoff,
            skin: args.skin,
            rebuild: args.rebuild,
            states,
            seconds,
            atom_steps_per_second: (atoms * args.steps) as f64 / seconds.total,
        }
    }

    /// The summary, one line for scripts.
    pub fn summary(&self) -> String {
        let Report { ranks, space, lists, atoms, steps, seconds, energy_drift, atom_steps_per_second, .. } = self;
        let Seconds { total, force, lists: listing, ranks: between, motion } = seconds;
        format!(
            "PERF_SUMMARY ranks={ranks} space={space} lists={lists} steps={steps} atoms={atoms} total_s={total:.4} force_s={force:.4} \
             lists_s={listing:.4} ranks_s={between:.4} motion_s={motion:.4} energy_drift={energy_drift:.1e} \
             atom_steps_per_s={atom_steps_per_second:.0}\n"
        )
    }

    /// All of it as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
