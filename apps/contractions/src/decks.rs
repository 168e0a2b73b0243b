//! Reads and checks the decks of a run, and what their tables must not overwrite: times that this run cannot make
//! again, and files that are no table but may have been one.

use crate::args::Args;
use crate::output::{self, csv};
use crate::peers::Libraries;
use crate::sweep::table::Row;
use crate::sweep::{SweepDeck, Table};
use minifenl::files::check_distinct;
use minifenl::{Error, Result};
use std::io::ErrorKind;

/// Reads the decks in order and refuses those whose files would overwrite each other or a deck.
pub fn read(args: &Args, peers: &Libraries) -> Result<Vec<SweepDeck>> {
    let decks = args.decks.iter().map(|path| SweepDeck::read(path, peers)).collect::<Result<Vec<_>>>()?;
    let inputs = args.decks.iter().map(|path| (path.display().to_string(), path.clone()));
    let outputs = decks.iter().zip(&args.decks).flat_map(|(deck, of)| {
        output::paths(deck, &args.out).into_iter().map(|path| {
            let name = path.file_name().unwrap_or_default().display();
            (format!("{name} of {}", of.display()), path.clone())
        })
    });
    check_distinct(&inputs.chain(outputs).collect::<Vec<_>>())?;
    if !args.quick {
        return Ok(decks);
    }
    let quick = decks
        .into_iter()
        .zip(&args.decks)
        .map(|(deck, path)| deck.quick().map_err(|error| Error::Invalid(format!("{}: {error}", path.display()))));
    quick.collect()
}

/// Refuses, without `--force`, to overwrite times that this run cannot make again: those of a GPU in a run without one, and
/// those of a full run in a quick one. A file that cannot be read as a table may hold such times.
pub fn spare(deck: &SweepDeck, args: &Args, has_gpu: bool) -> Result<()> {
    let path = csv(&args.out, deck);
    let refused = |why: String| {
        Err(Error::Invalid(format!("{why}: name another folder with --out (TABLES= of make), or --force")))
    };
    if std::fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let table = match Table::read(&path) {
        Ok(table) => table,
        Err(error) => return refused(format!("{error}; what it holds would be lost")),
    };
    // More samples than a quick run takes, or other sizes.
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
    refused(format!("{} {why}", path.display()))
}
