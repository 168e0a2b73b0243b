//! The figure of a sweep: median time per node against nodes, with bands from the 10th to the 90th percentile (of fewer than
//! 4 trials from the smallest to the largest).

use super::table::{cases, parallel, problem, spread};
use super::{PHASES, Run};
use minifenl::error::count;
use minifenl_figure::{Axis, Head, Kind, LineChart, Point, Series, styles};

/// The chart: a line for each phase and value.
pub fn svg(runs: &[Run]) -> String {
    let (cases, report) = (cases(runs), &runs[0].report);
    let mut values: Vec<&str> = Vec::new();
    for case in &cases {
        if !values.contains(&case[0].value.as_str()) {
            values.push(&case[0].value);
        }
    }
    // A phase has one colour, and a marker for each value.
    let names: Vec<&str> = PHASES.into_iter().flat_map(|phase| vec![phase; values.len()]).collect();
    let lines = PHASES.into_iter().flat_map(|phase| values.iter().map(move |value| (phase, *value)));
    let series = lines.zip(styles(&names)).map(|((phase, value), style)| {
        let mut points: Vec<Point> = cases
            .iter()
            .filter(|case| case[0].value == value)
            .filter_map(|case| {
                let spread = spread(case, phase)?;
                let band = Some([spread.p10_seconds, spread.p90_seconds]);
                Some(Point { x: case[0].report.nodes as f64, y: spread.median_seconds, band })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: format!("{phase} {value}").trim_end().into(), style, is_dashed: false, points }
    });
    let chart = LineChart {
        x: Axis { name: "nodes".into(), kind: Kind::Tens },
        y: Axis { name: "µs per node; cg: per iteration".into(), kind: Kind::Tens },
        series: series.filter(|series| !series.points.is_empty()).collect(),
        limits: Vec::new(),
    };
    let machine = &report.provenance.machine;
    let trials = cases.iter().map(Vec::len).max().unwrap_or(0);
    let bands = if trials < 4 { "smallest to largest" } else { "10th to 90th percentile" };
    let notes = vec![
        format!("{}; {}", problem(runs), parallel(runs)),
        format!("{} ({}), {}; minifenl {}", machine.host, machine.cpu, report.date, report.version),
        format!("medians of up to {}; bands: {bands}", count(trials, "trial")),
    ];
    chart.svg(&Head { title: "Time per node of graph, fill and CG".into(), notes })
}
