//! The figures of a deck, as SVG and as PNG.

mod figure;
mod groups;
mod limits;
mod names;
mod split;

use crate::sweep::case::Precision;
use crate::sweep::deck::Plot;
use crate::sweep::{SweepDeck, Table};
use minifenl::files;
use minifenl::{Error, Result};
use std::path::{Path, PathBuf};

/// Draws every figure that the table has numbers for; of each plot, how many.
pub fn all(deck: &SweepDeck, table: &Table, folder: &Path) -> Result<Vec<usize>> {
    let drawn = deck.plot.iter().map(|plot| {
        let figures = figure::of(plot, table);
        for (precision, figure) in &figures {
            let [svg, png] = files(deck, plot, precision, folder);
            let text = figure.svg();
            let picture = minifenl_figure::png(&text)
                .map_err(|reason| Error::File { path: png.display().to_string(), reason })?;
            files::write(&svg, text.as_bytes())?;
            files::write(&png, &picture)?;
        }
        Ok(figures.len())
    });
    drawn.collect()
}

/// The files of all figures that a deck may have.
pub fn paths(deck: &SweepDeck, folder: &Path) -> Vec<PathBuf> {
    let plots = deck.plot.iter();
    plots.flat_map(|plot| Precision::ALL.map(|(_, name)| files(deck, plot, name, folder))).flatten().collect()
}

/// A figure as SVG and as PNG.
fn files(deck: &SweepDeck, plot: &Plot, precision: &str, folder: &Path) -> [PathBuf; 2] {
    ["svg", "png"].map(|ending| folder.join(format!("{}-{}-{precision}.{ending}", deck.name, plot.name)))
}
