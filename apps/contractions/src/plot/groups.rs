//! The rows of a figure in groups: one per panel of a heat map, one per line.

use super::split::{Size, sizes};
use crate::sweep::Table;
use crate::sweep::case::{Case, Order, Precision};
use crate::sweep::deck::{Plot, fits};
use crate::sweep::table::Row;
use std::collections::HashMap;

/// Whether a row was measured on the host.
pub fn is_on_host(row: &Row) -> bool {
    !row.device.starts_with("cuda")
}

/// The times that speedups are over: in the row's own layout; of a host's that have one layout, in that.
pub struct Base {
    times: HashMap<(Case, Order), f64>,
    /// The layout, if the times are the host's and all of one.
    pub host: Option<Order>,
}

impl Base {
    pub fn new(over: &str, table: &Table) -> Self {
        let rows = || table.rows.iter().filter(|row| row.variant == over && row.timing.is_some());
        let times = rows().filter_map(|row| row.timing.map(|(seconds, _)| ((row.case, row.order), seconds)));
        let host = rows().find(|row| is_on_host(row)).map(|row| row.order);
        Base { times: times.collect(), host: host.filter(|order| rows().all(|row| row.order == *order)) }
    }

    pub fn seconds(&self, row: &Row) -> Option<f64> {
        let own = self.times.get(&(row.case, row.order));
        own.or_else(|| self.times.get(&(row.case, self.host?))).copied()
    }
}

/// The rows of a panel or of a line with their numbers.
pub struct Group<'a> {
    pub name: String,
    pub variant: &'a str,
    /// What its layouts have in common.
    family: String,
    /// The sizes that its name has.
    pub sizes: String,
    /// Rows with their times in ms, or with their speedups.
    pub points: Vec<(&'a Row, f64)>,
}

/// Groups rows by variant in the order of the plot, then by differing sizes and layout.
pub fn groups<'a>(plot: &Plot, base: Option<&Base>, table: &'a Table, precision: Precision) -> Vec<Group<'a>> {
    let rows = || {
        let is_drawn =
            |row: &&Row| row.case.precision == precision && plot.memory_mib.is_none_or(|mib| mib == row.memory_mib);
        table.rows.iter().filter(is_drawn)
    };
    let is_named = |row: &&Row| plot.variants.iter().any(|pattern| fits(pattern, &row.variant));
    let timed: Vec<&Row> = rows().filter(is_named).filter(|row| row.timing.is_some()).collect();
    let kernels = timed.iter().any(|row| row.case.kernel != timed[0].case.kernel);
    let sizes: Vec<Size> = sizes(plot, &timed);
    let mut variants: Vec<&'a str> = Vec::new();
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
                let sizes = format!("{kernel}{words}");
                match groups.iter_mut().find(|known| known.name == name) {
                    Some(group) => group.points.push((row, number)),
                    None => groups.push(Group { name, variant, family, sizes, points: vec![(row, number)] }),
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
