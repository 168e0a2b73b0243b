//! Output of a sweep: tables, figures, a few lines for people. Each file is written whole: a kill or a full disk leaves
//! the old one or the new one.

use crate::sweep::{SweepDeck, Table};
use minifenl::files::{self, NotWritten, OutputFile};
use minifenl::{Error, Result};
use std::path::{Path, PathBuf};

/// The files of a deck's tables, found writable before any work is done.
#[derive(Debug)]
pub struct Files {
    csv: (PathBuf, OutputFile),
    json: (PathBuf, OutputFile),
}

/// Makes the folder, before any work is done.
pub fn prepare(folder: &Path) -> Result<()> {
    files::create_folder(folder)
}

/// The table of a deck.
pub fn csv(folder: &Path, deck: &SweepDeck) -> PathBuf {
    folder.join(format!("{}.csv", deck.name))
}

/// The tables of a deck.
fn tables(deck: &SweepDeck, folder: &Path) -> [PathBuf; 2] {
    [csv(folder, deck), folder.join(format!("{}.json", deck.name))]
}

/// The files that a deck writes: tables, then figures.
pub fn paths(deck: &SweepDeck, folder: &Path) -> Vec<PathBuf> {
    let tables = tables(deck, folder).to_vec();
    #[cfg(feature = "plot")]
    let tables = [tables, crate::plot::paths(deck, folder)].concat();
    tables
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

impl Files {
    /// Checks that tables and figures of a deck can be written.
    pub fn create(deck: &SweepDeck, folder: &Path) -> Result<Self> {
        paths(deck, folder).iter().try_for_each(|path| OutputFile::create(path).map(drop))?;
        let [csv, json] = tables(deck, folder).map(|path| OutputFile::create(&path).map(|file| (path, file)));
        Ok(Files { csv: csv?, json: json? })
    }

    /// Writes both tables, and names them. What cannot be written has a copy elsewhere: times are not measured twice.
    pub fn write(&self, deck: &SweepDeck, table: &Table) -> Result<[&Path; 2], NotWritten> {
        let mut value = table.json();
        (value["name"], value["title"]) = (deck.name.clone().into(), deck.title.clone().into());
        value["version"] = env!("CARGO_PKG_VERSION").into();
        let json = serde_json::to_string(&value).unwrap_or_default().replace("{\"D\"", "\n{\"D\"") + "\n";
        self.csv.1.write_or_copy(table.csv().as_bytes())?;
        self.json.1.write_or_copy(json.as_bytes())?;
        Ok([&self.csv.0, &self.json.0])
    }
}

/// Writes what `--claims` and `--learn` print to a file.
pub fn text(path: &Path, text: &str) -> Result<()> {
    files::write(path, text.as_bytes())
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

/// Returns ceilings, the number of measurements and the best per variant, and the files written.
pub fn summary(deck: &SweepDeck, table: &Table, [csv, json]: [&Path; 2], figures: &[usize]) -> String {
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
