//! Reads and checks decks before any work, so that a wrong deck is an error.
//!
//! Checked are names and sizes that do not exist, lists without items, and the variants that a deck names: each must exist,
//! and a plot's must be measured by a sweep of the deck.

use super::case::{Case, Kernel, Order, Precision};
use super::deck::{Group, Plot, SweepDeck, fits, parse};
use super::peers::Peers;
use super::table::{LOOPS, SERIAL, THREADS};
#[cfg(feature = "cuda")]
use minifenl::contraction::Variant;
use minifenl::files::read_text;
use minifenl::{Error, Result};
use std::path::Path;

#[cfg(test)]
mod tests;

/// Bytes of a deck, at most.
const MOST_BYTES: u64 = 1 << 20;
/// Letters of a name, at most: file systems allow 255 for a file's, which has more parts.
const MOST_LETTERS: usize = 80;

impl SweepDeck {
    /// Reads and checks a deck; `peers` are the libraries that it may name beside this one.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read, [`Error::Invalid`] naming the file and what is wrong in it.
    pub fn read(path: &Path, peers: &impl Peers) -> Result<Self> {
        let text = read_text(path, MOST_BYTES)?;
        Self::parse(&text, peers).map_err(|error| Error::Invalid(format!("{}: {error}", path.display())))
    }

    /// Reads a deck from its text.
    ///
    /// # Errors
    /// [`Error::Invalid`] saying what is wrong.
    pub fn parse(text: &str, peers: &impl Peers) -> Result<Self> {
        let deck: SweepDeck = toml::from_str(text).map_err(|error| at_line(&error, text))?;
        check_values(&deck)?;
        check_names(&deck, peers)?;
        Ok(deck)
    }
}

/// Says what is wrong with a text, in which line, and with which key's value.
pub fn at_line(error: &toml::de::Error, text: &str) -> Error {
    let before = &text[..error.span().map_or(0, |span| span.start)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let key = before[start..].split_once('=').map_or(String::new(), |(key, _)| format!("{}: ", key.trim()));
    // The words of Rust become those of a file.
    let mut message = error.message().replace('\n', ", ");
    for (rust, words) in [
        ("invalid type: map, expected a sequence", "a table that there may be several of is written [[...]]"),
        ("expected a sequence", "expected a list, in [ ]"),
        ("expected usize", "expected a whole number, 1 or more"),
        ("expected f64", "expected a number"),
    ] {
        message = message.replace(rust, words);
    }
    Error::Invalid(format!("line {}: {key}{message}", before.matches('\n').count() + 1))
}

/// Checks everything but the names of variants.
///
/// # Errors
/// [`Error::Invalid`] with the sweep or plot, its field and the value.
fn check_values(deck: &SweepDeck) -> Result<()> {
    file_name("name", &deck.name)?;
    if deck.sweep.is_empty() {
        return bad("sweep is empty: there is nothing to measure");
    }
    for (i, group) in deck.sweep.iter().enumerate() {
        sweep(group).map_err(|error| Error::Invalid(format!("sweep {}: {error}", i + 1)))?;
    }
    for (i, plot) in deck.plot.iter().enumerate() {
        let of = |error| Error::Invalid(format!("plot {:?}: {error}", plot.name));
        picture(plot, deck).map_err(of)?;
        if deck.plot[..i].iter().any(|other| other.name == plot.name) {
            return bad("another plot has this name and would be overwritten").map_err(of);
        }
    }
    Ok(())
}

fn bad<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(what.into()))
}

fn file_name(field: &str, name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // `.` and `..` are folders, files that start with a dot are hidden, and one that starts with `-` looks like a flag.
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts || name.len() > MOST_LETTERS || !name.chars().all(is_plain) {
        let name: String = name.chars().take(MOST_LETTERS).collect();
        return bad(format!(
            "{field}: {name:?} is part of a file's name: a letter or digit, then letters, digits, `-`, `_` and `.`, \
             {MOST_LETTERS} at most"
        ));
    }
    Ok(())
}

fn sweep(group: &Group) -> Result<()> {
    parse::<Kernel>(&group.kernels)?;
    parse::<Precision>(&group.precisions)?;
    parse::<Order>(&group.layouts)?;
    parse::<Order>(&group.host_layouts)?;
    for (field, is_empty) in [
        ("kernels", group.kernels.is_empty()),
        ("precisions", group.precisions.is_empty()),
        ("fields", group.fields.is_empty()),
        ("points", group.points.is_empty()),
        ("dims", group.dims.is_empty()),
        ("memory_mib", group.memory_mib.is_empty()),
    ] {
        if is_empty {
            return bad(format!("{field} is empty: there is nothing to measure"));
        }
    }
    // One empty list of the two is a sweep of the host, or of the GPU, alone.
    for (field, is_empty) in [("layouts", group.layouts.is_empty()), ("variants", group.variants.is_empty())] {
        if is_empty && group.host_layouts.is_empty() {
            return bad(format!("{field} and host_layouts are empty: there is nothing to measure"));
        }
    }
    let flat = |pairs: &[[usize; 2]]| pairs.concat();
    for (field, sizes) in
        [("points", group.points.clone()), ("fields", flat(&group.fields)), ("dims", flat(&group.dims))]
    {
        if let Some(size) = sizes.iter().find(|size| !(1..=1 << 20).contains(*size)) {
            return bad(format!("{field}: {size} is not a whole number from 1 to 2^20"));
        }
    }
    for &kernel in &parse::<Kernel>(&group.kernels)? {
        let points = group.points.iter().copied().max().unwrap_or(1);
        for (&fields, &dims) in group.fields.iter().flat_map(|fields| group.dims.iter().map(move |dims| (fields, dims)))
        {
            // Of one cell; no more fit than memory_mib has bytes.
            let case = Case::of_cell(kernel, Precision::F64, fields, points, dims);
            if !case.is_possible() {
                return bad(format!(
                    "one cell of {kernel} with fields {fields:?}, {points} points and dims {dims:?} has more than 2^60 bytes"
                ));
            }
        }
    }
    if let Some(mib) = group.memory_mib.iter().find(|&&mib| !(mib > 0.0 && mib <= 1e6)) {
        return bad(format!("memory_mib: {mib} is not above 0 and up to 1e6"));
    }
    Ok(())
}

fn picture(plot: &Plot, deck: &SweepDeck) -> Result<()> {
    file_name("name", &plot.name)?;
    if !["heat", "lines"].contains(&&*plot.kind) {
        return bad(format!("kind {:?}: choose heat or lines", plot.kind));
    }
    if !["terms", "memory", "cells"].contains(&&*plot.x) {
        return bad(format!("x {:?}: choose one of terms, memory, cells", plot.x));
    }
    if plot.kind == "heat" && plot.over.is_none() {
        return bad("a heat map is of speedups, so it needs `over`");
    }
    if plot.variants.is_empty() {
        return bad("variants is empty: there is nothing to draw");
    }
    let mut sizes = deck.sweep.iter().flat_map(|group| &group.memory_mib);
    match plot.memory_mib {
        Some(mib) if sizes.all(|&size| size != mib) => {
            bad(format!("memory_mib: {mib} is in none of the deck's sweeps"))
        }
        _ => Ok(()),
    }
}

/// What a plot can draw.
const MEASURED: &str = "those that the deck's sweeps measure: ";

/// Refuses names and patterns that match nothing: in a sweep no variant and no peer, in a plot nothing that the sweeps of the
/// deck measure. A build without `cuda` does not know the names of the GPU variants and refuses none.
///
/// # Errors
/// [`Error::Invalid`] with the word, where it stands and what there is.
fn check_names(deck: &SweepDeck, peers: &impl Peers) -> Result<()> {
    if cfg!(not(feature = "cuda")) {
        return Ok(());
    }
    let mut all: Vec<&str> = gpu_variants();
    all.extend([LOOPS, SERIAL, THREADS]);
    all.extend([peers.host_names(), peers.gpu_names(), peers.absent_names()].concat());
    for (i, group) in deck.sweep.iter().enumerate() {
        let of = format!("sweep {}: variants", i + 1);
        group.variants.iter().try_for_each(|pattern| find(&of, pattern, "", &all, fits))?;
    }
    let mut measured: Vec<&str> = Vec::new();
    for name in deck.sweep.iter().flat_map(|group| measured_by(group, peers)) {
        if !measured.contains(&name) {
            measured.push(name);
        }
    }
    for plot in &deck.plot {
        let of = |field: &str| format!("plot {:?}: {field}", plot.name);
        plot.variants.iter().try_for_each(|pattern| find(&of("variants"), pattern, MEASURED, &measured, fits))?;
        // Speedups are over one variant, so its name is no pattern.
        plot.over
            .iter()
            .try_for_each(|over| find(&of("over"), over, MEASURED, &measured, |over, name| over == name))?;
    }
    Ok(())
}

/// Fails unless one of the names matches.
fn find(of: &str, pattern: &str, whose: &str, names: &[&str], is_one: fn(&str, &str) -> bool) -> Result<()> {
    if names.iter().any(|name| is_one(pattern, name)) {
        return Ok(());
    }
    Err(Error::Invalid(format!("{of}: {pattern:?} fits none of {whose}{}", names.join(", "))))
}

/// Returns every name that gets a row: the deck's names and the names that always run, including peers that this build lacks.
fn measured_by(group: &Group, peers: &impl Peers) -> Vec<&'static str> {
    let mut names = Vec::new();
    if !group.layouts.is_empty() {
        names.extend(gpu_variants().iter().filter(|name| group.variants.iter().any(|pattern| fits(pattern, name))));
        names.extend(peers.gpu_names());
    }
    if !group.host_layouts.is_empty() {
        names.extend([LOOPS, SERIAL, THREADS]);
        names.extend(peers.host_names());
    }
    names.extend(peers.absent_names());
    names
}

#[cfg(feature = "cuda")]
fn gpu_variants() -> Vec<&'static str> {
    Variant::ALL.iter().map(|(_, name)| *name).collect()
}

#[cfg(not(feature = "cuda"))]
fn gpu_variants() -> Vec<&'static str> {
    Vec::new()
}
