//! `minifenl strategies`: all strategies on one mesh as a table, and as JSON where asked for.

use crate::progress::Terminal;
use crate::show;
use minifenl::comm::{Communicator, agree};
use minifenl::error::printable;
use minifenl::files::OutputFile;
use minifenl::run::program::Exit;
use minifenl::run::{Deck, strategies};

/// Measures, prints the table and writes the numbers; exit code 3 when a result or a promise about bits is wrong.
pub fn run(deck: &Deck, rounds: usize, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    let path = deck.run.report.as_deref().filter(|_| comm.rank() == 0);
    let file = agree(comm, path.map(OutputFile::create).transpose())?;
    let terminal = Terminal::new(comm.rank() == 0, deck);
    let study = strategies(deck, rounds, comm, &|event| terminal.see(event))?;
    let shown = show(&study.table());
    if let Some(file) = file {
        let json = serde_json::to_string_pretty(&study)? + "\n";
        if let Err(lost) = file.write_or_copy(json.as_bytes()) {
            crate::look::say(&format!("error: {}", printable(&lost.to_string())));
            return Ok(Exit::Failed);
        }
    }
    shown.map(|_| Exit::verdict(study.verified))
}
