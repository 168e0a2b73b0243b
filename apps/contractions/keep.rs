//! What is not written over without `--force`: times that this run cannot make again.

use crate::args::Args;
use crate::output::csv;
use minifenl::run::sweep::{SweepDeck, Table};
use minifenl::{Error, Result};

/// Refuses to write over times of a GPU in a run that has none, and over more than a quick run measures in a quick one.
pub fn spare(deck: &SweepDeck, args: &Args, has_gpu: bool) -> Result<()> {
    let path = csv(&args.out, deck);
    // What is not a table is no loss.
    let Ok(table) = Table::read(&path) else { return Ok(()) };
    let mut timed = table.rows.iter().filter(|row| row.timing.is_some());
    let why = if !has_gpu && table.rows.iter().any(|row| row.device.starts_with("cuda")) {
        "has times of a GPU and this run has no GPU"
    } else if args.quick && timed.any(|row| !SweepDeck::is_quick(row.memory_mib)) {
        "has times of full sizes and this run is a quick one"
    } else {
        return Ok(());
    };
    let path = path.display();
    Err(Error::Invalid(format!("{path} {why}: name another folder with --out (TABLES= of make), or --force")))
}
