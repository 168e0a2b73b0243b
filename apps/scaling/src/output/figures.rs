//! The figures of a study: time and efficiency per phase, communication, imbalance, the model's line.

use super::chart::{Chart, Series};
use super::document::Block;
use crate::model::Prediction;
use crate::study::{Row, Table};

const RANKS: &str = "ranks";

/// The figures that there are numbers for.
pub fn all(table: &Table, model: Option<&Prediction>) -> Vec<Block> {
    let names = [("graph", "graph"), ("fill", "fill"), ("cg", "CG iteration"), ("spmv", "SpMV"), ("halo", "halo")];
    let names = &names[..];
    let time = |row: &Row, name: &str| {
        let time = &row.phase(name)?.seconds;
        let all = [time.median_seconds, time.p10_seconds, time.p90_seconds].map(|seconds| 1e3 * seconds);
        // A logarithmic axis has no zero, and one rank exchanges nothing.
        (all[1] > 0.0 && (name != "halo" || row.point.ranks > 1)).then_some(all)
    };
    let same = |value: f64| [value; 3];
    let figures = [
        (
            "time",
            "Time of one call per phase (CG, SpMV, halo: per iteration) on the slowest rank; bars from the tenth to the ninetieth percentile.",
            Chart { title: "Time per phase", x: RANKS, y: "ms", is_log: true, series: series(table, names, &time) },
        ),
        (
            "efficiency",
            "Nodes per second and worker over that of the smallest point; oversubscribed points are left out.",
            Chart {
                title: "Efficiency per phase",
                x: RANKS,
                y: "efficiency",
                is_log: false,
                series: series(table, &names[..4], &|row, name| row.phase(name)?.efficiency.map(same)),
            },
        ),
        (
            "communication",
            "Time of the halo exchange over that of CG, on the slowest ranks: waiting for neighbours is part of it.",
            Chart {
                title: "Communication in CG",
                x: RANKS,
                y: "halo / CG, %",
                is_log: false,
                series: series(table, &[("cg", "halo")], &|row, _| Some(same(100.0 * row.communication))),
            },
        ),
        (
            "imbalance",
            "Slowest rank over the mean.",
            Chart {
                title: "Imbalance",
                x: RANKS,
                y: "max / mean",
                is_log: false,
                series: series(table, &names[..4], &|row, name| Some(same(row.phase(name)?.imbalance))),
            },
        ),
    ];
    let mut blocks: Vec<Block> =
        figures.into_iter().map(|(name, caption, chart)| figure(name, caption, &chart)).collect();
    blocks.extend(model.map(|model| line(table, model)));
    blocks.retain(|block| !matches!(block, Block::Figure(_, _, svg) if svg.is_empty()));
    blocks
}

fn figure(name: &'static str, caption: &str, chart: &Chart<'_>) -> Block {
    Block::Figure(name, caption.into(), chart.svg())
}

/// Lines over the ranks: one per name and number of threads.
fn series(table: &Table, names: &[(&str, &str)], value: &dyn Fn(&Row, &str) -> Option<[f64; 3]>) -> Vec<Series> {
    let mut threads: Vec<usize> = table.rows.iter().map(|row| row.point.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let lines = names.iter().enumerate();
    let lines = lines.flat_map(|(color, &(key, name))| threads.iter().map(move |&threads| (color, key, name, threads)));
    let lines = lines.map(|(color, key, name, count)| {
        let rows = table.rows.iter().filter(|row| row.point.threads == count);
        let points = rows.filter_map(|row| {
            let [y, low, high] = value(row, key)?;
            Some([row.point.ranks as f64, y, low, high])
        });
        let plural = if count == 1 { "" } else { "s" };
        let name = if threads.len() > 1 { format!("{name}, {count} thread{plural}") } else { name.to_string() };
        Series { name, is_dashed: count > threads[0], color, points: points.collect() }
    });
    lines.filter(|series| !series.points.is_empty()).collect()
}

/// Measured iterations and the model's line.
fn line(table: &Table, model: &Prediction) -> Block {
    let measured = series(table, &[("cg", "measured")], &|row, name| {
        let own = row.point.threads == model.threads && row.placement.oversubscribed.is_none();
        own.then(|| row.phase(name)).flatten().map(|phase| [1e3 * phase.seconds.median_seconds; 3])
    });
    let points = model.line.iter().map(|point| {
        let ms = 1e3 * point.seconds;
        [point.partition.ranks as f64, ms, ms, ms]
    });
    let threads = model.threads;
    let model = Series { name: "model".into(), is_dashed: true, color: 1, points: points.collect() };
    let peers = table.peers.iter().filter(|row| row.point.threads == threads).map(|row| {
        let time = &row.seconds[2];
        let [y, low, high] = [time.median_seconds, time.p10_seconds, time.p90_seconds].map(|seconds| 1e3 * seconds);
        [row.point.ranks as f64, y, low, high]
    });
    let peers = Series { name: "miniFE".into(), is_dashed: false, color: 2, points: peers.collect() };
    let series = measured.into_iter().chain([model, peers]).filter(|series| !series.points.is_empty()).collect();
    let caption = "CG iteration: measured, and the model drawn through to 100,000 ranks. Beyond the measured ranks the line is an \
                   extrapolation with the factors of the measured machine.";
    figure("model", caption, &Chart { title: "CG iteration and model", x: RANKS, y: "ms", is_log: true, series })
}
