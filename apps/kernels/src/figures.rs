//! GB/s of each kernel over its size, as SVG.

use crate::report::{Report, Row};
use minifenl_figure::{Axis, Head, Kind, Limit, LineChart, Point, Series, styles};

/// Names of files, without ending, and figures.
pub fn of(report: &Report) -> Vec<(String, String)> {
    let mut kernels: Vec<&str> = Vec::new();
    for row in &report.rows {
        if !kernels.contains(&row.kernel) {
            kernels.push(row.kernel);
        }
    }
    kernels.into_iter().map(|kernel| (kernel.into(), figure(report, kernel))).collect()
}

/// A line of a figure: space and variant, of the layer or by hand.
fn line(rows: &[&Row], name: &str, rate: impl Fn(&Row) -> Option<f64>) -> Vec<Point> {
    let of_name = rows.iter().filter(|row| label(row) == name);
    of_name.filter_map(|row| Some(Point { x: row.items as f64, y: rate(row)?, band: None })).collect()
}

/// Sizes are along the axis: a variant that names them is none.
fn label(row: &Row) -> String {
    let is_size = row.variant.starts_with(|c: char| c.is_ascii_digit()) || row.variant.is_empty();
    if is_size { row.space.clone() } else { format!("{}, {}", row.space, row.variant) }
}

fn figure(report: &Report, kernel: &str) -> String {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.kernel == kernel).collect();
    let mut names: Vec<String> = Vec::new();
    rows.iter().map(|row| label(row)).for_each(|name| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    let looks = styles(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut series = Vec::new();
    for (name, style) in names.iter().zip(looks) {
        let layer = line(&rows, name, |row| Some(row.gigabytes_per_second));
        let by_hand = line(&rows, name, |row| Some(row.gigabytes_per_second * row.seconds / row.native_seconds?));
        series.push(Series { name: name.clone(), style, is_dashed: false, points: layer });
        if !by_hand.is_empty() {
            series.push(Series { name: format!("{name}, by hand"), style, is_dashed: true, points: by_hand });
        }
    }
    let ends = |pick: fn(f64, f64) -> f64| rows.iter().map(|row| row.items as f64).reduce(pick).unwrap_or(1.0);
    let (least, most) = (ends(f64::min), ends(f64::max));
    let limits = report
        .spaces
        .iter()
        .map(|of| Limit { name: format!("triad, {}", of.space), points: vec![[least, of.triad], [most, of.triad]] });
    let axis = |name: &str| Axis { name: name.into(), kind: Kind::Tens };
    let chart = LineChart { x: axis("items"), y: axis("GB/s"), series, limits: limits.collect() };
    let machine = report.machine.as_ref().map(|machine| machine.cpu.clone()).unwrap_or_default();
    let note = format!("{machine}, {}; bytes that a call moves at least, over its time", report.build.commit);
    chart.svg(&Head { title: format!("{kernel}: the layer beside loops by hand"), notes: vec![note] })
}
