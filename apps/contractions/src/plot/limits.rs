//! The roofline of each device in a figure of lines: max(bytes / copy bandwidth, flops / peak), or the speedup that this time is.

use super::groups::{Base, Group, is_on_host};
use super::names::device;
use super::split::place;
use crate::sweep::Table;
use crate::sweep::table::{Row, SERIAL};
use minifenl_figure::Limit;
use std::collections::BTreeMap;

/// One line per device and set of sizes: for the GPU, and for the host's threads or else its one core.
pub fn limits(x: &str, groups: &[Group<'_>], base: Option<&Base>, table: &Table) -> Vec<Limit> {
    let rows = || groups.iter().flat_map(|group| group.points.iter().map(move |(row, _)| (group, *row)));
    let has_threads = rows().any(|(_, row)| is_on_host(row) && row.device != SERIAL);
    let mut limits: Vec<(String, BTreeMap<u64, f64>)> = Vec::new();
    for (group, row) in rows().filter(|(_, row)| !(has_threads && row.device == SERIAL)) {
        let Some(number) = number(row, base, table) else { continue };
        let name = format!("roofline, {}{}", device(&row.device), group.sizes);
        let at = limits.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            limits.push((name, BTreeMap::new()));
            limits.len() - 1
        });
        // Of two layouts, which have one roofline, the better speedup.
        let best = limits[at].1.entry(place(x, row).to_bits()).or_insert(number);
        *best = best.max(number);
    }
    let limit = |(name, points): (String, BTreeMap<u64, f64>)| Limit {
        name,
        points: points.into_iter().map(|(bits, y)| [f64::from_bits(bits), y]).collect(),
    };
    limits.into_iter().map(limit).collect()
}

/// Milliseconds, or the speedup over the base.
fn number(row: &Row, base: Option<&Base>, table: &Table) -> Option<f64> {
    let ceilings = table.ceilings.iter().find(|ceilings| ceilings.device == row.device)?;
    let seconds = row.case.flops() / ceilings.roofline(&row.case);
    match base {
        Some(base) => base.seconds(row).map(|base| base / seconds),
        None => Some(1e3 * seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Chart, of};
    use crate::sweep::Table;
    use crate::sweep::case::{Case, Kernel, Order, Precision};
    use crate::sweep::ceilings::Ceilings;
    use crate::sweep::deck::Plot;
    use crate::sweep::table::Row;
    use minifenl::space::Layout;

    /// 2 P flops and 8 (2 P + 1) bytes per cell: by the copy at 1e9 bytes per second, by the peak at 1e8 flops per second.
    #[test]
    fn a_limit_is_the_longer_of_two_times() {
        let row = |points: usize, variant: &str, device: &str, seconds: f64| Row {
            case: Case { cells: 1000, ..Case::of_cell(Kernel::DataDataScalar, Precision::F64, [1, 1], points, [1, 1]) },
            variant: variant.into(),
            order: Order(Layout::Right),
            memory_mib: 1.0,
            timing: Some((seconds, 3)),
            roofline: None,
            device: device.into(),
            checked: "yes".into(),
        };
        let rows = [8, 64].into_iter().flat_map(|points| {
            [
                row(points, "flat", "cuda:0 (NVIDIA H200)", 1e-3),
                row(points, "threads", "threads(16)", 2e-3),
                row(points, "serial", "serial", 4e-3),
            ]
        });
        let ceilings = [("cuda:0 (NVIDIA H200)", 1e9, 1e12), ("threads(16)", 1e12, 1e8), ("serial", 1.0, 1.0)];
        let ceilings = ceilings.map(|(device, copy, peak)| Ceilings { device: device.into(), copy, peak: [peak; 2] });
        let table = Table { rows: rows.collect(), ceilings: ceilings.to_vec(), ..Table::default() };
        let limits = |over: Option<&str>| {
            let plot = Plot {
                name: "p".into(),
                kind: "lines".into(),
                variants: vec!["*".into()],
                over: over.map(String::from),
                x: "terms".into(),
                memory_mib: None,
                title: String::new(),
            };
            let Chart::Lines(chart) = of(&plot, &table).remove(0).1.chart else { panic!("no lines") };
            chart.limits.into_iter().map(|limit| (limit.name, limit.points)).collect::<Vec<_>>()
        };
        let near = |found: &[[f64; 2]], expected: &[[f64; 2]]| {
            assert_eq!(found.len(), expected.len());
            let pairs = found.iter().flatten().zip(expected.iter().flatten());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * b), "{found:?} {expected:?}");
        };
        // One core has no line beside the threads.
        let times = limits(None);
        assert_eq!(
            times.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
            ["roofline, H200", "roofline, 16 threads"]
        );
        near(&times[0].1, &[[8.0, 0.136], [64.0, 1.032]]);
        near(&times[1].1, &[[8.0, 0.16], [64.0, 1.28]]);
        let speedups = limits(Some("serial"));
        near(&speedups[0].1, &[[8.0, 4.0 / 0.136], [64.0, 4.0 / 1.032]]);
    }
}
