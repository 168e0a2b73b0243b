//! What a sweep leaves behind: tables, figures, a few lines for people.

use crate::sweep::{SweepDeck, Table};
use minifenl::{Error, Result};
use std::path::{Path, PathBuf};

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Error::File { path, reason: error.to_string() }
}

/// Makes the folder, before any work is done.
pub fn prepare(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(failed(folder))
}

/// The table of a deck.
pub fn csv(folder: &Path, deck: &SweepDeck) -> PathBuf {
    folder.join(format!("{}.csv", deck.name))
}

/// The table that is there; if none is, whose it is and what makes it.
pub fn read(deck: &SweepDeck, of: &Path, folder: &Path) -> Result<Table> {
    let path = csv(folder, deck);
    if !path.exists() {
        let (path, of, folder) = (path.display().to_string(), of.display(), folder.display());
        let reason = format!("there is no table of {of}; minifenl-contractions {of} --out {folder} makes it");
        return Err(Error::File { path, reason });
    }
    Table::read(&path)
}

/// Writes both tables, and names them.
pub fn write(deck: &SweepDeck, table: &Table, folder: &Path) -> Result<[PathBuf; 2]> {
    let [csv, json] = [csv(folder, deck), folder.join(format!("{}.json", deck.name))];
    std::fs::write(&csv, table.csv()).map_err(failed(&csv))?;
    let mut value = table.json();
    (value["name"], value["title"]) = (deck.name.clone().into(), deck.title.clone().into());
    value["version"] = env!("CARGO_PKG_VERSION").into();
    let text = serde_json::to_string(&value).unwrap_or_default().replace("{\"D\"", "\n{\"D\"") + "\n";
    std::fs::write(&json, text).map_err(failed(&json))?;
    Ok([csv, json])
}

/// Draws every figure of the deck; of each plot, how many.
#[cfg(feature = "plot")]
pub fn draw(deck: &SweepDeck, table: &Table, folder: &Path) -> Result<Vec<usize>> {
    crate::plot::all(deck, table, folder)
}

/// Draws nothing in a build without figures.
#[cfg(not(feature = "plot"))]
pub fn draw(_: &SweepDeck, _: &Table, _: &Path) -> Result<Vec<usize>> {
    Ok(Vec::new())
}

/// How many figures there are now, and for which plots there was nothing to draw.
pub fn drawn(deck: &SweepDeck, figures: &[usize]) -> String {
    if cfg!(not(feature = "plot")) {
        return "no figures in this build".into();
    }
    let count = match figures.iter().sum() {
        0 => "no figures".into(),
        1 => "1 figure (SVG and PNG)".into(),
        count => format!("{count} figures (SVG and PNG)"),
    };
    let empty = deck.plot.iter().zip(figures).filter(|(_, count)| **count == 0);
    let names: Vec<String> = empty.map(|(plot, _)| format!("{:?}", plot.name)).collect();
    if names.is_empty() { count } else { format!("{count}; of {} no times", names.join(", ")) }
}

/// Ceilings, for each variant how much was measured and the best of it, and what was written.
pub fn summary(deck: &SweepDeck, table: &Table, [csv, json]: &[PathBuf; 2], figures: &[usize]) -> String {
    let mut text = format!("{}: {}\n", deck.name, deck.title);
    for c in &table.ceilings {
        text += &format!(
            "{:<32} copy {:.0} GB/s, peak {:.0} GFLOP/s f32, {:.0} f64\n",
            c.device,
            c.copy * 1e-9,
            c.peak[0] * 1e-9,
            c.peak[1] * 1e-9
        );
    }
    let mut variants: Vec<&str> = Vec::new();
    for row in &table.rows {
        if !variants.contains(&&*row.variant) {
            variants.push(&row.variant);
        }
    }
    for variant in variants {
        let rows = || table.rows.iter().filter(|row| row.variant == variant);
        let measured = rows().filter(|row| row.timing.is_some()).count();
        let best = rows().filter_map(|row| row.roofline).fold(0.0, f64::max);
        text += &format!("  {variant:<20} {measured} of {} measured", rows().count());
        if measured > 0 {
            text += &format!(", at best {:.0} % of the roofline", 100.0 * best);
        }
        if let Some(why) = rows().find(|row| row.timing.is_none()) {
            text += &format!("; {}", why.checked);
        }
        text.push('\n');
    }
    text + &format!("wrote {}, {} and {}\n\n", csv.display(), json.display(), drawn(deck, figures))
}
