//! Makes figures from the table: panels of a heat map, or lines with the roofline of each device.

use super::groups::{Base, Group, groups, is_on_host};
use super::limits::limits;
use super::names::{over_words, source};
use super::split::{common, place};
use crate::sweep::Table;
use crate::sweep::case::Precision;
use crate::sweep::deck::Plot;
use crate::sweep::table::Row;
use minifenl_figure::{Axis, Head, HeatMap, Kind, LineChart, Panel, Point, Series, plain, styles};
use std::collections::BTreeMap;

/// A picture with what it shows and on what.
pub struct Figure {
    pub head: Head,
    pub chart: Chart,
}

/// Either kind.
pub enum Chart {
    Heat(HeatMap),
    Lines(LineChart),
}

impl Figure {
    pub fn svg(&self) -> String {
        match &self.chart {
            Chart::Heat(map) => map.svg(&self.head),
            Chart::Lines(chart) => chart.svg(&self.head),
        }
    }
}

/// Name of the axis of K.
const TERMS: &str = "contraction length K = P D1 D2";
const MEMORY: &str = "memory, MiB";

/// The figures of a plot, one a precision, with the ending of its name.
pub fn of(plot: &Plot, table: &Table) -> Vec<(String, Figure)> {
    let base = plot.over.as_ref().map(|over| Base::new(over, table));
    let figures = Precision::ALL.into_iter().filter_map(|(precision, name)| {
        let groups = groups(plot, base.as_ref(), table, precision);
        let rows: Vec<&Row> = groups.iter().flat_map(|group| group.points.iter().map(|(row, _)| *row)).collect();
        let what = match (&plot.over, &base) {
            (Some(over), Some(base)) => format!("speedup over {}", over_words(over, base.host)),
            _ => "median time per call".to_string(),
        };
        let source = source(&rows, table)?;
        let title = [plot.title.clone()].into_iter().chain(common(&rows)).collect::<Vec<_>>().join(", ");
        let (chart, how) = match &*plot.kind {
            "heat" => (Chart::Heat(map(&groups)), ""),
            _ => {
                let dashed = rows.iter().any(|row| is_on_host(row));
                let chart = lines(plot, &groups, base.as_ref(), table);
                let how = match (dashed, chart.limits.is_empty()) {
                    (false, true) => ", the better layout of each variant",
                    (true, true) => ", the better layout of each variant; dashed: host",
                    (false, false) => ", the better layout of each variant; short dashes: roofline",
                    (true, false) => ", the better layout of each variant; dashed: host; short dashes: roofline",
                };
                (Chart::Lines(chart), how)
            }
        };
        let head = Head { title, notes: vec![source, format!("{name}: {what}{how}")] };
        Some((name.to_string(), Figure { head, chart }))
    });
    figures.collect()
}

/// Panels over all contraction and memory sizes of the figure.
fn map(groups: &[Group<'_>]) -> HeatMap {
    let rows = || groups.iter().flat_map(|group| group.points.iter().map(|(row, _)| *row));
    let mut terms: Vec<usize> = rows().map(|row| row.case.terms()).collect();
    let mut memory: Vec<f64> = rows().map(|row| row.memory_mib).collect();
    terms.sort_unstable();
    terms.dedup();
    memory.sort_by(f64::total_cmp);
    memory.dedup();
    let panel = |group: &Group<'_>| {
        let mut values = vec![vec![None; terms.len()]; memory.len()];
        for (row, number) in &group.points {
            let x = terms.iter().position(|terms| *terms == row.case.terms());
            let y = memory.iter().position(|memory| *memory == row.memory_mib);
            if let (Some(x), Some(y)) = (x, y) {
                values[y][x] = Some(*number);
            }
        }
        Panel { title: group.name.clone(), values }
    };
    HeatMap {
        panels: groups.iter().map(panel).collect(),
        x: (TERMS.into(), terms.iter().map(usize::to_string).collect()),
        y: (MEMORY.into(), memory.iter().map(|mib| plain(*mib)).collect()),
        value: "speedup".into(),
    }
}

fn lines(plot: &Plot, groups: &[Group<'_>], base: Option<&Base>, table: &Table) -> LineChart {
    let variants: Vec<&str> = groups.iter().map(|group| group.variant).collect();
    let series = groups.iter().zip(styles(&variants)).map(|(group, style)| Series {
        name: group.name.clone(),
        style,
        is_dashed: group.points.iter().all(|(row, _)| is_on_host(row)),
        points: best(&plot.x, group, base.is_some()),
    });
    let x = match &*plot.x {
        "memory" => MEMORY,
        "cells" => "cells",
        _ => TERMS,
    };
    LineChart {
        x: Axis { name: x.into(), kind: Kind::Twos },
        y: Axis { name: if base.is_some() { "speedup" } else { "time, ms" }.into(), kind: Kind::Tens },
        series: series.collect(),
        limits: limits(&plot.x, groups, base, table),
    }
}

/// The best number at each place, of the layouts of one case.
fn best(x: &str, group: &Group<'_>, is_speedup: bool) -> Vec<Point> {
    let mut by_x: BTreeMap<u64, f64> = BTreeMap::new();
    for (row, number) in &group.points {
        // Positive numbers are in the order of their bits.
        let best = by_x.entry(place(x, row).to_bits()).or_insert(*number);
        *best = if is_speedup { best.max(*number) } else { best.min(*number) };
    }
    let point = |(bits, y)| Point { x: f64::from_bits(bits), y, band: None };
    by_x.into_iter().map(point).collect()
}
