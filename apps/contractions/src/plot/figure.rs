//! What is drawn, taken from the table: panels of a heat map, or lines.

use super::names::{device, over_words};
use super::split::{place, sizes};
use crate::sweep::Table;
use crate::sweep::case::{Case, Order, Precision};
use crate::sweep::deck::{Plot, fits};
use crate::sweep::table::Row;
use std::collections::{BTreeMap, HashMap};

/// A picture with what it shows and on what.
pub struct Figure {
    pub title: String,
    /// A line below the title: device, precision, what the numbers are.
    pub note: String,
    pub kind: Kind,
}

/// Either kind.
pub enum Kind {
    Heat(Vec<Panel>),
    Lines(Lines),
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
    pub x: &'static str,
    pub y: &'static str,
    pub lines: Vec<Line>,
}

/// One of them.
pub struct Line {
    pub name: String,
    /// Dashed, if so.
    pub is_on_host: bool,
    pub points: Vec<(f64, f64)>,
}

/// The figures of a plot, one a precision, with the ending of its name.
pub fn of(plot: &Plot, table: &Table) -> Vec<(String, Figure)> {
    let base = plot.over.as_ref().map(|over| Base::new(over, table));
    let figures = Precision::ALL.into_iter().filter_map(|(precision, name)| {
        let groups = groups(plot, base.as_ref(), table, precision);
        let rows = || groups.iter().flat_map(|group| group.points.iter().map(|(row, _)| *row));
        let what = match (&plot.over, &base) {
            (Some(over), Some(base)) => format!("speedup over {}", over_words(over, base.host)),
            _ => "time of a call".to_string(),
        };
        let (device, title) = (device(rows())?, plot.title.clone());
        Some((
            name.to_string(),
            match &*plot.kind {
                "heat" => {
                    let panels = groups.iter().map(panel).collect();
                    Figure { title, note: format!("{device}, {name}: {what}"), kind: Kind::Heat(panels) }
                }
                _ => {
                    let is_over = plot.over.is_some();
                    let lines = groups.iter().map(|group| line(&plot.x, group, is_over)).collect();
                    let dashed = if rows().any(is_on_host) { "; dashed: on the host" } else { "" };
                    let x = match &*plot.x {
                        "memory" => "memory, MiB",
                        "cells" => "cells",
                        _ => "contraction size",
                    };
                    let y = if is_over { "speedup" } else { "time, ms" };
                    let note = format!("{device}, {name}: {what}, the better layout of each{dashed}");
                    Figure { title, note, kind: Kind::Lines(Lines { x, y, lines }) }
                }
            },
        ))
    });
    figures.collect()
}

fn is_on_host(row: &Row) -> bool {
    !row.device.starts_with("cuda")
}

/// The times that speedups are over: in the row's own layout; of a host's that have one layout, in that.
struct Base {
    times: HashMap<(Case, Order), f64>,
    /// The layout, if the times are the host's and all of one.
    host: Option<Order>,
}

impl Base {
    fn new(over: &str, table: &Table) -> Self {
        let rows = || table.rows.iter().filter(|row| row.variant == over && row.timing.is_some());
        let times = rows().filter_map(|row| row.timing.map(|(seconds, _)| ((row.case, row.order), seconds)));
        let host = rows().find(|row| is_on_host(row)).map(|row| row.order);
        Base { times: times.collect(), host: host.filter(|order| rows().all(|row| row.order == *order)) }
    }

    fn seconds(&self, row: &Row) -> Option<f64> {
        let own = self.times.get(&(row.case, row.order));
        own.or_else(|| self.times.get(&(row.case, self.host?))).copied()
    }
}

/// The rows of a panel or of a line with their numbers.
struct Group<'a> {
    name: String,
    /// What its layouts have in common.
    family: String,
    points: Vec<(&'a Row, f64)>,
}

/// By variant in the order of the plot, then by the sizes that differ, then, of a heat map, by layout.
fn groups<'a>(plot: &Plot, base: Option<&Base>, table: &'a Table, precision: Precision) -> Vec<Group<'a>> {
    let rows = || {
        let is_drawn =
            |row: &&Row| row.case.precision == precision && plot.memory_mib.is_none_or(|mib| mib == row.memory_mib);
        table.rows.iter().filter(is_drawn)
    };
    let is_named = |row: &&Row| plot.variants.iter().any(|pattern| fits(pattern, &row.variant));
    let timed: Vec<&Row> = rows().filter(is_named).filter(|row| row.timing.is_some()).collect();
    let kernels = timed.iter().any(|row| row.case.kernel != timed[0].case.kernel);
    let sizes = sizes(plot, &timed);
    let mut variants: Vec<&str> = Vec::new();
    for pattern in &plot.variants {
        for row in rows().filter(|row| fits(pattern, &row.variant)) {
            if !variants.contains(&&*row.variant) {
                variants.push(&row.variant);
            }
        }
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for variant in variants {
        let of_variant = || rows().filter(|row| row.variant == variant);
        let layouts: Vec<Option<Order>> = match &*plot.kind {
            "heat" => Order::ALL.into_iter().map(|(order, _)| Some(order)).collect(),
            _ => vec![None],
        };
        for layout in layouts {
            for row in of_variant().filter(|row| layout.is_none_or(|order| order == row.order)) {
                let Some((seconds, _)) = row.timing else { continue };
                let number = match base {
                    Some(base) => base.seconds(row).map(|base| base / seconds),
                    None => Some(1e3 * seconds),
                };
                let Some(number) = number else { continue };
                let kernel = if kernels { format!("{} ", row.case.kernel) } else { String::new() };
                let words: String = sizes.iter().map(|size| size.words(row)).collect();
                let side = layout.map_or(String::new(), |order| format!(", {order} layout"));
                let (name, family) = (format!("{kernel}{variant}{side}{words}"), format!("{kernel}{variant}{words}"));
                match groups.iter_mut().find(|known| known.name == name) {
                    Some(group) => group.points.push((row, number)),
                    None => groups.push(Group { name, family, points: vec![(row, number)] }),
                }
            }
        }
    }
    let mut families: Vec<String> = Vec::new();
    for group in &groups {
        if !families.contains(&group.family) {
            families.push(group.family.clone());
        }
    }
    groups.sort_by_key(|group| families.iter().position(|family| *family == group.family));
    groups
}

fn panel(group: &Group<'_>) -> Panel {
    let points = || group.points.iter();
    let mut terms: Vec<usize> = points().map(|(row, _)| row.case.terms()).collect();
    let mut memory: Vec<f64> = points().map(|(row, _)| row.memory_mib).collect();
    terms.sort_unstable();
    terms.dedup();
    memory.sort_by(f64::total_cmp);
    memory.dedup();
    let mut values = vec![vec![None; terms.len()]; memory.len()];
    for (row, number) in points() {
        let at = |x: Option<usize>| x.unwrap_or(0);
        let x = at(terms.iter().position(|terms| *terms == row.case.terms()));
        let y = at(memory.iter().position(|memory| *memory == row.memory_mib));
        values[y][x] = Some(*number);
    }
    Panel { title: group.name.clone(), terms, memory, values }
}

/// The best number at each place, of the layouts of one case.
fn line(x: &str, group: &Group<'_>, is_speedup: bool) -> Line {
    let mut by_x: BTreeMap<u64, f64> = BTreeMap::new();
    for (row, number) in &group.points {
        // Positive numbers are in the order of their bits.
        let best = by_x.entry(place(x, row).to_bits()).or_insert(*number);
        *best = if is_speedup { best.max(*number) } else { best.min(*number) };
    }
    Line {
        name: group.name.clone(),
        is_on_host: group.points.iter().all(|(row, _)| is_on_host(row)),
        points: by_x.into_iter().map(|(bits, number)| (f64::from_bits(bits), number)).collect(),
    }
}
