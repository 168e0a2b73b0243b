//! What is not written over without `--force`: times that this run cannot make again.

use crate::args::Args;
use crate::output::csv;
use minifenl::run::sweep::table::Row;
use minifenl::run::sweep::{SweepDeck, Table};
use minifenl::{Error, Result};

/// Refuses to write over times of a GPU in a run that has none, and over more than a quick run measures in a quick one.
pub fn spare(deck: &SweepDeck, args: &Args, has_gpu: bool) -> Result<()> {
    let path = csv(&args.out, deck);
    // What is not a table is no loss.
    let Ok(table) = Table::read(&path) else { return Ok(()) };
    // More samples or other sizes than a quick run's.
    let is_full = |row: &Row| {
        let samples = row.timing.map(|(_, samples)| samples);
        samples.is_some_and(|samples| samples > args.effort().samples[1] || !SweepDeck::is_quick(row.memory_mib))
    };
    let why = if !has_gpu && table.rows.iter().any(|row| row.device.starts_with("cuda")) {
        "has times of a GPU and this run has no GPU"
    } else if args.quick && table.rows.iter().any(is_full) {
        "has times of a full run and this run is a quick one"
    } else {
        return Ok(());
    };
    let path = path.display();
    Err(Error::Invalid(format!("{path} {why}: name another folder with --out (TABLES= of make), or --force")))
}
