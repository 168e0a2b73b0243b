//! `minifenl sweep`: time per node of graph, fill and CG against the number of nodes, as table, CSV, report and figure.
//!
//! ```text
//! for each size, for each trial, for each value of --compare: one run
//! ```
//! Trials are interleaved over the values, so that drifts of the machine meet all alike. Times are those of the reports:
//! microseconds per node of the whole box and call on the slowest rank; a call of CG is an iteration.

mod figure;
mod plan;
mod table;

pub use plan::Plan;

use crate::progress::Terminal;
use crate::show;
use anyhow::Context;
use minifenl::comm::{Communicator, agree};
use minifenl::run::program::Exit;
use minifenl::run::{Report, solve};
use serde::Serialize;

/// The phases that are shown.
const PHASES: [&str; 3] = ["graph", "fill", "cg"];

/// A run of the sweep.
#[derive(Serialize)]
struct Run {
    /// Flag and value of `--compare`, such as `fill=gather`; empty without it.
    value: String,
    /// Trial, 0-based.
    trial: usize,
    report: Report,
}

impl Run {
    /// Microseconds per node and call of a phase; `None` if it did not run.
    fn us_per_node(&self, phase: &str) -> Option<f64> {
        let phase = self.report.phases.iter().find(|known| known.name == phase && known.calls > 0)?;
        Some(phase.us_per_node).filter(|time| *time > 0.0)
    }

    /// Solved right, or not judged.
    fn is_good(&self) -> bool {
        self.report.is_good()
    }
}

/// Does all runs on all ranks; then rank 0 prints the table and writes the files. If a run fails, both hold the runs before it.
pub fn run(plan: &Plan, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    let files = agree(comm, if comm.rank() == 0 { plan.files() } else { Ok(Vec::new()) })?;
    let mut runs = Vec::new();
    let ended = measure(plan, comm, &mut runs);
    if comm.rank() > 0 || runs.is_empty() {
        return ended.map(|()| Exit::verdict(runs.iter().all(Run::is_good)));
    }
    let shown = show(&crate::result(&table::table(&runs, plan)));
    for (file, form) in files {
        let is_written = match form {
            Form::Csv => file.write(&table::csv(&runs)).is_ok(),
            Form::Figure => file.write(&figure::svg(&runs)).is_ok(),
            Form::Report => file.report(&runs)?,
        };
        if !is_written {
            return Ok(Exit::Failed);
        }
    }
    ended?;
    shown.map(|_| Exit::verdict(runs.iter().all(Run::is_good)))
}

/// What a file holds.
#[derive(Clone, Copy)]
enum Form {
    Csv,
    Figure,
    Report,
}

/// An error names the size and the value of its run.
fn measure(plan: &Plan, comm: &dyn Communicator, runs: &mut Vec<Run>) -> anyhow::Result<()> {
    for decks in &plan.sizes {
        for trial in 0..plan.trials {
            for (value, deck) in plan.values.iter().zip(decks) {
                let terminal = Terminal::new(comm.rank() == 0, deck);
                let report = solve(deck, comm, &|event| terminal.see(event)).with_context(|| {
                    let nodes = deck.mesh.nodes.map_or(String::new(), |nodes| nodes.to_string());
                    format!("nodes {nodes} {value}").trim_end().to_string()
                })?;
                runs.push(Run { value: value.clone(), trial, report });
            }
        }
    }
    Ok(())
}
