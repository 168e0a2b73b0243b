//! What a deck must not say: names and sizes that are none, lists without items, which would be tables and pictures of nothing.

use super::case::{Kernel, Order, Precision};
use super::deck::{Group, Plot, SweepDeck, parse};
use crate::{Error, Result};

/// Looks at all but the names of variants.
///
/// # Errors
/// [`Error::Invalid`] with the sweep or plot, its field and the value.
pub(super) fn check(deck: &SweepDeck) -> Result<()> {
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
            return bad("another plot has this name, and would be written over").map_err(of);
        }
    }
    Ok(())
}

fn bad<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(what.into()))
}

fn file_name(field: &str, name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        return bad(format!("{field}: {name:?} is part of a file's name: letters, digits, `-`, `_` and `.`"));
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
    // Either alone is the host, or the GPU, alone.
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

#[cfg(test)]
mod tests {
    use super::super::{NoPeers, SweepDeck};

    const GOOD: &str = "name = 'x'\ntitle = ''\n[[sweep]]\nkernels = ['data_data_scalar']\nvariants = ['*']\n\
        precisions = ['f64']\nlayouts = ['left']\nhost_layouts = ['right']\nfields = [[1, 1]]\npoints = [8]\n\
        dims = [[1, 1]]\nmemory_mib = [1]\n[[plot]]\nname = 'p'\ntitle = ''\nkind = 'lines'\nvariants = ['serial']\n\
        x = 'cells'\nmemory_mib = 1\n";

    fn error(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        SweepDeck::parse(&GOOD.replacen(from, to, 1), &NoPeers).err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, part) in [
            ("'x'", "'a/b'", "name: \"a/b\" is part of a file's name"),
            ("'x'", "''", "name: \"\""),
            ("'data_data_scalar'", "'dot'", "sweep 1: contraction \"dot\": choose one of field_field_scalar"),
            ("'left'", "'up'", "layout \"up\""),
            ("points = [8]", "points = [8, 0]", "sweep 1: points: 0 is not a whole number from 1 to 2^20"),
            (
                "points = [8]",
                "points = [-8]",
                "line 10: points: invalid value: integer `-8`, expected a whole number, 1 or more",
            ),
            ("dims = [[1, 1]]", "dims = [[1, 1.5]]", "line 11: dims: invalid type"),
            ("dims = [[1, 1]]", "dims = [[2, 3, 4]]", "line 11: dims: [2, 3, 4] is not two numbers"),
            ("fields = [[1, 1]]", "fields = [[4]]", "fields: [4] is not two numbers"),
            ("points = [8]", "points = 8", "points: invalid type: integer `8`, expected a list, in [ ]"),
            ("memory_mib = [1]", "memory_mib = ['1']", "expected a number"),
            ("[[plot]]", "[plot]", "a table that there may be several of is written [[...]]"),
            ("dims = [[1, 1]]", "dims = [[1, 9999999]]", "dims: 9999999 is not"),
            ("memory_mib = [1]", "memory_mib = [-1.5]", "memory_mib: -1.5 is not above 0"),
            ("kind = 'lines'", "kind = 'bars'", "plot \"p\": kind \"bars\": choose heat or lines"),
            ("kind = 'lines'", "kind = 'heat'", "plot \"p\": a heat map"),
            ("x = 'cells'", "x = 'cell'", "plot \"p\": x \"cell\": choose one of terms, memory, cells"),
            ("memory_mib = 1\n", "memory_mib = 2\n", "plot \"p\": memory_mib: 2 is in none"),
            (
                "[[plot]]",
                "[[plot]]\nname = 'p'\ntitle = ''\nkind = 'lines'\nvariants = ['loops']\n[[plot]]",
                "another plot",
            ),
        ] {
            let error = error(from, to);
            assert!(error.contains(part) && error.lines().count() == 1, "{to}: {error}");
        }
    }

    #[test]
    fn lists_without_items_are_refused_but_for_either_side() {
        for (field, full) in [
            ("kernels", "['data_data_scalar']"),
            ("precisions", "['f64']"),
            ("fields", "[[1, 1]]"),
            ("points", "[8]"),
            ("dims", "[[1, 1]]"),
            ("memory_mib", "[1]"),
        ] {
            let error = error(&format!("{field} = {full}"), &format!("{field} = []"));
            assert_eq!(error, format!("sweep 1: {field} is empty: there is nothing to measure"));
        }
        assert!(error("variants = ['serial']", "variants = []").starts_with("plot \"p\": variants is empty"));
        let none = SweepDeck::parse("name = 'x'\ntitle = ''\nsweep = []", &NoPeers).unwrap_err().to_string();
        assert!(none.starts_with("sweep is empty"), "{none}");
        for field in ["layouts = ['left']", "variants = ['*']"] {
            let name = field.split(' ').next().unwrap();
            assert_eq!(error(field, &format!("{name} = []")), "");
            let both = GOOD.replacen(field, &format!("{name} = []"), 1).replacen("['right']", "[]", 1);
            let error = SweepDeck::parse(&both, &NoPeers).unwrap_err().to_string();
            assert!(error.contains(&format!("{name} and host_layouts are empty")), "{error}");
        }
        let gpu = GOOD.replacen("['right']", "[]", 1).replacen("['serial']", "['flat']", 1);
        assert!(SweepDeck::parse(&gpu, &NoPeers).is_ok());
    }
}
