//! What is drawn, taken from the table: panels of a heat map, or lines.

use minifenl::run::sweep::Table;
use minifenl::run::sweep::case::{Case, Precision};
use minifenl::run::sweep::deck::{Plot, fits};
use minifenl::run::sweep::table::Row;
use std::collections::{BTreeMap, HashMap};

/// Either kind.
pub enum Figure {
    Heat(Heat),
    Lines(Lines),
}

/// Panels of one scale.
pub struct Heat {
    pub title: String,
    pub panels: Vec<Panel>,
}

/// Contraction size by memory size.
pub struct Panel {
    pub title: String,
    pub terms: Vec<usize>,
    pub memory: Vec<f64>,
    /// `[memory][terms]`
    pub values: Vec<Vec<Option<f64>>>,
}

/// Lines on two logarithmic axes, each of the better of its layouts.
pub struct Lines {
    pub title: String,
    pub x: &'static str,
    pub y: String,
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// The figures of a plot, one a precision, with the ending of its name.
pub fn of(plot: &Plot, table: &Table) -> Vec<(String, Figure)> {
    let figures = Precision::ALL.into_iter().filter_map(|(precision, name)| {
        let groups = groups(plot, table, precision);
        let title = format!("{} ({name})", plot.title);
        let unit = plot.over.as_ref().map_or("time, ms".to_string(), |over| format!("speedup over {over}"));
        let figure = match &*plot.kind {
            _ if groups.is_empty() => return None,
            "heat" => {
                let panels = groups.into_iter().map(|(title, rows)| panel(title, &rows)).collect();
                let title = match plot.over {
                    None => format!("{title}: ms"),
                    Some(_) => title,
                };
                Figure::Heat(Heat { title, panels })
            }
            _ => {
                let lines =
                    groups.into_iter().map(|(name, rows)| (name, line(&plot.x, &rows, plot.over.is_some()))).collect();
                let x = match &*plot.x {
                    "memory" => "memory, MiB",
                    "cells" => "cells",
                    _ => "contraction size",
                };
                Figure::Lines(Lines { title, x, y: unit, lines })
            }
        };
        Some((name.to_string(), figure))
    });
    figures.collect()
}

type Points<'a> = Vec<(&'a Row, f64)>;

/// The rows of each panel or line with their numbers, in the order of the plot's variants.
fn groups<'a>(plot: &Plot, table: &'a Table, precision: Precision) -> Vec<(String, Points<'a>)> {
    let base = base(plot, table);
    let rows = || {
        let is_drawn =
            |row: &&Row| row.case.precision == precision && plot.memory_mib.is_none_or(|mib| mib == row.memory_mib);
        table.rows.iter().filter(is_drawn)
    };
    let several = |of: fn(&Row) -> String| {
        let mut first = None;
        rows().any(|row| *first.get_or_insert_with(|| of(row)) != of(row))
    };
    let (kernels, fields) =
        (several(|row| row.case.kernel.to_string()), several(|row| format!("{:?}", row.case.fields)));
    let mut groups: Vec<(String, Points<'a>)> = Vec::new();
    for pattern in &plot.variants {
        for row in rows().filter(|row| fits(pattern, &row.variant)) {
            let Some((seconds, _)) = row.timing else { continue };
            let number = match &base {
                Some(base) => base.get(&row.case).map(|base| base / seconds),
                None => Some(1e3 * seconds),
            };
            let Some(number) = number else { continue };
            // A line is of the better layout.
            let mut name = match &*plot.kind {
                "heat" => format!("{} {}", row.variant, row.order),
                _ => row.variant.clone(),
            };
            if kernels {
                name = format!("{} {name}", row.case.kernel);
            }
            if fields {
                name += &format!(" {}x{}", row.case.fields[0], row.case.fields[1]);
            }
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push((row, number)),
                None => groups.push((name, vec![(row, number)])),
            }
        }
    }
    groups
}

fn base(plot: &Plot, table: &Table) -> Option<HashMap<Case, f64>> {
    plot.over.as_ref().map(|over| table.best(over))
}

fn panel(title: String, points: &Points<'_>) -> Panel {
    let mut terms: Vec<usize> = points.iter().map(|(row, _)| row.case.terms()).collect();
    let mut memory: Vec<f64> = points.iter().map(|(row, _)| row.memory_mib).collect();
    terms.sort_unstable();
    terms.dedup();
    memory.sort_by(f64::total_cmp);
    memory.dedup();
    let mut values = vec![vec![None; terms.len()]; memory.len()];
    for (row, number) in points {
        let at = |x: Option<usize>| x.unwrap_or(0);
        let x = at(terms.iter().position(|terms| *terms == row.case.terms()));
        let y = at(memory.iter().position(|memory| *memory == row.memory_mib));
        values[y][x] = Some(*number);
    }
    Panel { title, terms, memory, values }
}

/// The best number at each place.
fn line(x: &str, points: &Points<'_>, is_speedup: bool) -> Vec<(f64, f64)> {
    let mut by_x: BTreeMap<u64, f64> = BTreeMap::new();
    for (row, number) in points {
        let at = match x {
            "memory" => row.memory_mib,
            "cells" => row.case.cells as f64,
            _ => row.case.terms() as f64,
        };
        // Positive numbers are in the order of their bits.
        let best = by_x.entry(at.to_bits()).or_insert(*number);
        *best = if is_speedup { best.max(*number) } else { best.min(*number) };
    }
    by_x.into_iter().map(|(bits, number)| (f64::from_bits(bits), number)).collect()
}
