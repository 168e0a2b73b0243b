//! `minifenl strategies`: all strategies on one mesh as a table, and as a report where asked for.

use crate::output::Output;
use crate::progress::Terminal;
use crate::show;
use minifenl::comm::Communicator;
use minifenl::run::program::Exit;
use minifenl::run::{Deck, strategies};

/// Measures, prints the table and writes the numbers; exit code 3 when a result or a promise about bits is wrong.
pub fn run(deck: &Deck, rounds: usize, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    let file = Output::open("--report", deck.run.report.as_deref(), comm)?;
    let terminal = Terminal::new(comm.rank() == 0, deck);
    let study = strategies(deck, rounds, comm, &|event| terminal.see(event))?;
    let shown = show(&study.table());
    let is_written = file.map_or(Ok(true), |file| file.report(&study))?;
    shown.map(|_| if is_written { Exit::verdict(study.verified) } else { Exit::Failed })
}
