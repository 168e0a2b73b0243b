//! Distinguishes lines or panels of one variant by the sizes that the axes do not show.
//!
//! Each place of a line is of one case (in its layouts), so that a better case does not stand for a worse one unseen.

use crate::sweep::case::{Case, Kernel};
use crate::sweep::deck::Plot;
use crate::sweep::table::Row;
use std::collections::HashMap;

/// A size that a name can have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Fields,
    Dims,
    Points,
    Memory,
}

impl Size {
    const ALL: [Size; 4] = [Size::Fields, Size::Dims, Size::Points, Size::Memory];

    /// For a name; of indices that the kernel lacks, nothing.
    pub fn words(self, row: &Row) -> String {
        let Case { kernel, fields: [l, r], points, dims: [d1, d2], .. } = row.case;
        match self {
            Size::Fields if kernel.fields() == [false, false] => String::new(),
            Size::Fields if kernel.fields() == [false, true] => format!(", F = {r}"),
            Size::Fields => format!(", {l} × {r}"),
            Size::Dims if kernel.rank() == 0 => String::new(),
            Size::Dims if kernel.rank() == 1 => format!(", D = {d1}"),
            Size::Dims => format!(", D = {d1} × {d2}"),
            Size::Points => format!(", P = {points}"),
            Size::Memory if row.memory_mib >= 1024.0 && row.memory_mib % 1024.0 == 0.0 => {
                format!(", {} GiB", row.memory_mib / 1024.0)
            }
            Size::Memory => format!(", {} MiB", row.memory_mib),
        }
    }
}

/// Where a row stands on the horizontal axis.
pub fn place(x: &str, row: &Row) -> f64 {
    match x {
        "memory" => row.memory_mib,
        "cells" => row.case.cells as f64,
        _ => row.case.terms() as f64,
    }
}

/// The sizes that names need: all that vary, but for the one that the axis shows.
pub fn sizes(plot: &Plot, rows: &[&Row]) -> Vec<Size> {
    let is_heat = plot.kind == "heat";
    // What moves a case along the axis, the first of those that vary; a heat map has memory on its other axis.
    let axis: &[Size] = match &*plot.x {
        "memory" if !is_heat => &[Size::Memory],
        "cells" if !is_heat => &[Size::Memory, Size::Points, Size::Dims],
        _ => &[Size::Points, Size::Dims],
    };
    let varying = Size::ALL.into_iter().filter(|size| !(is_heat && *size == Size::Memory) && varies(*size, rows));
    let varying: Vec<Size> = varying.collect();
    let along = axis.iter().find(|size| varying.contains(size));
    let named: Vec<Size> = varying.iter().copied().filter(|size| Some(size) != along).collect();
    if is_one_case_a_place(plot, &named, rows) { named } else { varying }
}

/// The sizes that all rows of a figure have in common, for its title.
pub fn common(rows: &[&Row]) -> Vec<String> {
    let words = Size::ALL.into_iter().filter_map(|size| {
        let words = size.words(rows.first()?);
        rows.iter().all(|row| size.words(row) == words).then(|| words.trim_start_matches(", ").to_string())
    });
    words.filter(|words| !words.is_empty()).collect()
}

/// Among rows of one kernel.
fn varies(size: Size, rows: &[&Row]) -> bool {
    let mut first: HashMap<Kernel, String> = HashMap::new();
    rows.iter().any(|row| *first.entry(row.case.kernel).or_insert_with(|| size.words(row)) != size.words(row))
}

/// D of 2 x 3 and of 3 x 2 are one contraction size, and few large cells fill several memory sizes.
fn is_one_case_a_place(plot: &Plot, named: &[Size], rows: &[&Row]) -> bool {
    let x = if plot.kind == "heat" { "terms" } else { &plot.x };
    let mut known: HashMap<(Kernel, String, u64, Option<u64>), Case> = HashMap::new();
    rows.iter().all(|row| {
        let words = named.iter().map(|size| size.words(row)).collect();
        let memory = (plot.kind == "heat").then_some(row.memory_mib.to_bits());
        let place = (row.case.kernel, words, place(x, row).to_bits(), memory);
        *known.entry(place).or_insert(row.case) == row.case
    })
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Chart, of};
    use super::*;
    use crate::sweep::Table;
    use crate::sweep::case::{Order, Precision};
    use minifenl::space::Layout;

    /// Names of the lines, or of the panels, and how many places they have.
    fn drawn(kind: &str, x: &str, points: &[usize], dims: &[[usize; 2]], memory: &[f64]) -> Vec<(String, usize)> {
        let (variants, over) = (vec!["flat".into()], (kind == "heat").then(|| "flat".into()));
        let (kind, x) = (kind.into(), x.into());
        let plot = Plot { name: "p".into(), kind, variants, over, x, memory_mib: None, title: String::new() };
        let mut rows = Vec::new();
        for &memory_mib in memory {
            for (&points, &dims) in points.iter().flat_map(|points| dims.iter().map(move |dims| (points, dims))) {
                let bytes = (memory_mib * 1048576.0) as usize;
                let case = Case::filling(Kernel::FieldFieldTensor, Precision::F64, [2, 2], points, dims, bytes);
                for order in [Order(Layout::Left), Order(Layout::Right)] {
                    let [variant, device, checked] = ["flat", "cuda:0 (x)", "yes"].map(String::from);
                    let timing = Some((1e-3, 3));
                    rows.push(Row { case, variant, order, memory_mib, timing, roofline: None, device, checked });
                }
            }
        }
        let figures = of(&plot, &Table { rows, ..Table::default() });
        match &figures[0].1.chart {
            Chart::Lines(chart) => chart.series.iter().map(|line| (line.name.clone(), line.points.len())).collect(),
            Chart::Heat(map) => map
                .panels
                .iter()
                .map(|panel| (panel.title.clone(), panel.values.iter().flatten().flatten().count()))
                .collect(),
        }
    }

    #[test]
    fn cases_that_differ_have_lines_of_their_own() {
        let two = |a: &str, b: &str, places| vec![(a.to_string(), places), (b.to_string(), places)];
        let one = |places| vec![("flat".to_string(), places)];
        let (square, two_squares, memory) = ([[2, 2]], [[2, 2], [4, 4]], [1.0, 64.0]);
        assert_eq!(drawn("lines", "terms", &[8, 16, 32], &square, &[1.0]), one(3));
        assert_eq!(drawn("lines", "terms", &[8, 16, 32], &square, &memory), two("flat, 1 MiB", "flat, 64 MiB", 3));
        assert_eq!(
            drawn("lines", "terms", &[8, 32], &two_squares, &[1.0]),
            two("flat, D = 2 × 2", "flat, D = 4 × 4", 2)
        );
        // The dimensions alone may be what the axis shows, if they tell its places apart.
        assert_eq!(drawn("lines", "terms", &[8], &two_squares, &[1.0]), one(2));
        assert_eq!(
            drawn("lines", "terms", &[8], &[[2, 3], [3, 2]], &[1.0]),
            two("flat, D = 2 × 3", "flat, D = 3 × 2", 1)
        );
        assert_eq!(drawn("lines", "cells", &[8], &square, &memory), one(2));
        assert_eq!(drawn("lines", "cells", &[8, 16], &square, &memory), two("flat, P = 8", "flat, P = 16", 2));
        assert_eq!(drawn("lines", "memory", &[8, 16], &square, &memory), two("flat, P = 8", "flat, P = 16", 2));
    }

    #[test]
    fn panels_have_one_case_a_field() {
        let panels = drawn("heat", "terms", &[8, 32], &[[2, 2], [4, 4]], &[1.0, 64.0]);
        let titles: Vec<&str> = panels.iter().map(|(title, _)| title.as_str()).collect();
        let [left, right] = ["flat, left layout", "flat, right layout"];
        let expected = [left, right, left, right].into_iter().zip(["2 × 2", "2 × 2", "4 × 4", "4 × 4"]);
        assert_eq!(titles, expected.map(|(title, dims)| format!("{title}, D = {dims}")).collect::<Vec<_>>());
        assert!(panels.iter().all(|(_, fields)| *fields == 4));
    }

    #[test]
    fn what_speedups_are_over_is_what_was_timed() {
        let case = Case::filling(Kernel::DataDataScalar, Precision::F64, [1, 1], 8, [1, 1], 1 << 20);
        let row = |variant: &str, device: &str, layout, timing| Row {
            case,
            variant: variant.into(),
            order: Order(layout),
            memory_mib: 1.0,
            timing,
            roofline: None,
            device: device.into(),
            checked: String::new(),
        };
        let note = |left: Option<(f64, usize)>| {
            let plot = Plot {
                name: "p".into(),
                kind: "heat".into(),
                variants: vec!["flat".into()],
                over: Some("serial".into()),
                x: "terms".into(),
                memory_mib: None,
                title: String::new(),
            };
            let gpu = |layout| row("flat", "cuda:0 (x)", layout, Some((1e-3, 3)));
            let host = |layout, timing| row("serial", "serial", layout, timing);
            let rows = vec![
                host(Layout::Left, left),
                host(Layout::Right, Some((1.0, 3))),
                gpu(Layout::Left),
                gpu(Layout::Right),
            ];
            let (_, figure) = of(&plot, &Table { rows, ..Table::default() }).remove(0);
            let Chart::Heat(map) = figure.chart else { panic!("no heat map") };
            let speedups = map.panels.iter().map(|panel| panel.values[0][0].unwrap().round());
            (figure.head.notes[1].clone(), speedups.collect::<Vec<_>>())
        };
        let (text, speedups) = note(Some((2.0, 3)));
        assert!(text.ends_with("in the same layout") && speedups == [2000.0, 1000.0], "{text} {speedups:?}");
        let (text, speedups) = note(None);
        assert!(text.ends_with("(right layout)") && speedups == [1000.0, 1000.0], "{text} {speedups:?}");
    }
}
