//! The figures of a study: time and efficiency per phase, communication, imbalance, the model's line.

#[cfg(test)]
mod tests;

use super::chart::{Chart, Series};
use super::document::Block;
use super::words::more_rows;
use crate::model::Prediction;
use crate::study::peer::Program;
use crate::study::plan::Point;
use crate::study::{Row, Table};
use minifenl::error::count as in_words;
use minifenl::run::report::SpreadReport;
use minifenl_figure::Limit;
use std::collections::BTreeSet;

const RANKS: &str = "ranks";

/// The figures that there are numbers for.
pub fn all(table: &Table, model: Option<&Prediction>) -> Vec<Block> {
    let names = [("graph", "graph"), ("fill", "fill"), ("cg", "CG iteration"), ("spmv", "SpMV"), ("halo", "halo")];
    let names = &names[..];
    let time = |row: &Row, name: &str| {
        let all = ms(&row.phase(name)?.seconds);
        // A logarithmic axis has no zero, and one rank exchanges nothing.
        (all[1] > 0.0 && (name != "halo" || row.point.ranks > 1)).then_some(all)
    };
    let same = |value: f64| [value; 3];
    let figures = [
        (
            "time",
            "Time of one call per phase (CG, SpMV, halo: per iteration) on the slowest rank; bands from the 10th to the 90th percentile; short dashes: the bytes of a CG iteration in CRS over the bandwidth of the triad (other formats move fewer).",
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
        figures.into_iter().map(|(name, caption, chart)| figure(table, name, caption, &chart)).collect();
    blocks.push(uneven(table));
    blocks.push(peers(table));
    blocks.extend(model.map(|model| line(table, model)));
    blocks.retain(|block| !matches!(block, Block::Figure(_, _, svg) if svg.is_empty()));
    blocks
}

/// A figure with the machine of the first run in its subtitle and, among times per phase, the limit of CG.
fn figure(table: &Table, name: &'static str, caption: &str, chart: &Chart<'_>) -> Block {
    let limits = if ["time", "model"].contains(&name) { limit(table) } else { Vec::new() };
    Block::Figure(name, caption.into(), chart.svg(&note(table), limits))
}

/// Machine and version of the first run.
fn note(table: &Table) -> String {
    table.first.as_ref().map_or(String::new(), |first| {
        format!("{}; {}; minifenl {}", first.provenance.machine.cpu, first.device, first.version)
    })
}

/// Milliseconds of a CG iteration that moves its bytes with the bandwidth of the triad, for the least number of threads.
fn limit(table: &Table) -> Vec<Limit> {
    let least = table.rows.iter().map(|row| row.point.threads).min();
    let rows = table.rows.iter().filter(|row| Some(row.point.threads) == least && !row.point.is_uneven());
    let points: Vec<[f64; 2]> = rows
        .filter_map(|row| Some([row.point.ranks as f64, 1e-6 * row.bytes / row.triad_gb_per_s?]))
        .filter(|[_, ms]| *ms > 0.0)
        .collect();
    let limit = Limit { name: "CG, bytes / triad bandwidth".into(), points };
    [limit].into_iter().filter(|limit| !limit.points.is_empty()).collect()
}

/// Lines over the ranks: one per name and number of threads.
fn series(table: &Table, names: &[(&str, &str)], value: &dyn Fn(&Row, &str) -> Option<[f64; 3]>) -> Vec<Series> {
    let mut threads: Vec<usize> = table.rows.iter().map(|row| row.point.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let lines = names.iter().enumerate();
    let lines = lines.flat_map(|(color, &(key, name))| threads.iter().map(move |&threads| (color, key, name, threads)));
    let lines = lines.map(|(color, key, name, count)| {
        let rows = table.rows.iter().filter(|row| row.point.threads == count && !row.point.is_uneven());
        let points = rows.filter_map(|row| {
            let [y, low, high] = value(row, key)?;
            Some([row.point.ranks as f64, y, low, high])
        });
        let name = if threads.len() > 1 { format!("{name}, {}", in_words(count, "thread")) } else { name.to_string() };
        Series { name, is_dashed: count > threads[0], color, points: points.collect() }
    });
    lines.filter(|series| !series.points.is_empty()).collect()
}

/// Milliseconds: median, low, high.
fn ms(time: &SpreadReport) -> [f64; 3] {
    [time.median_seconds, time.p10_seconds, time.p90_seconds].map(|seconds| 1e3 * seconds)
}

/// CG iterations with uneven boxes; dashed: the time predicted from the largest number of rows per rank.
fn of_uneven(table: &Table) -> Vec<Series> {
    let rated = || table.rows.iter().filter(|row| row.is_rated());
    let mut lines: Vec<(usize, u32)> =
        rated().filter(|row| row.point.is_uneven()).map(|row| (row.point.threads, row.point.imbalance)).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut series = Vec::new();
    // Even boxes are the first line of each number of threads.
    let firsts: BTreeSet<(usize, u32)> = lines.iter().map(|&(threads, _)| (threads, 0)).collect();
    let has_threads = firsts.len() > 1;
    let all: BTreeSet<(usize, u32)> = firsts.into_iter().chain(lines).collect();
    for (color, (threads, imbalance)) in all.into_iter().enumerate() {
        let own = rated().filter(|row| row.point.threads == threads && row.point.imbalance == imbalance);
        let (mut measured, mut expected) = (Vec::new(), Vec::new());
        for row in own {
            let (x, Some(cg)) = (row.point.ranks as f64, row.phase("cg")) else { continue };
            let [y, low, high] = ms(&cg.seconds);
            measured.push([x, y, low, high]);
            let by_rows =
                table.against_even(row).and_then(|(even, _)| Some(1e3 * even.iteration()? * more_rows(even, row)?));
            expected.extend(by_rows.filter(|_| imbalance > 0).map(|y| [x, y, y, y]));
        }
        let name = if has_threads {
            format!("{imbalance} %, {}", in_words(threads, "thread"))
        } else {
            format!("{imbalance} %")
        };
        let by_rows = Series { name: format!("{name}, by rows"), is_dashed: true, color, points: expected };
        series.extend([Series { name, is_dashed: false, color, points: measured }, by_rows]);
    }
    series.retain(|series| !series.points.is_empty());
    series
}

fn uneven(table: &Table) -> Block {
    let series = of_uneven(table);
    let caption = "CG iteration with uneven boxes; dashed: the time with even boxes times the rows of the fullest rank over those with even boxes.";
    figure(
        table,
        "uneven",
        caption,
        &Chart { title: "Uneven boxes", x: RANKS, y: "ms per CG iteration", is_log: false, series },
    )
}

/// CG iterations of other programs against workers: ranks with 1 thread, and threads of 1 rank.
fn of_peers(table: &Table) -> Vec<Series> {
    type Choice = (&'static str, fn(Point) -> bool);
    let choices: [Choice; 2] = [("ranks", |point| point.threads == 1), ("threads", |point| point.ranks == 1)];
    let at = |point: Point, [y, low, high]: [f64; 3]| [point.workers() as f64, y, low, high];
    let mut series = Vec::new();
    for (dashed, (what, takes)) in choices.into_iter().enumerate() {
        let takes = |point: Point| takes(point) && !point.is_uneven();
        let own = table.rows.iter().filter(|row| takes(row.point) && row.is_rated());
        let own = own.filter_map(|row| Some(at(row.point, ms(&row.phase("cg")?.seconds)))).collect();
        let line = |name: &str, color, points: Vec<[f64; 4]>| Series {
            name: format!("{name}, {what}"),
            is_dashed: dashed > 0,
            color,
            points,
        };
        series.push(line("minifenl", 0, own));
        for (color, program) in Program::ALL.into_iter().enumerate() {
            let rows = table.peers_of(program).filter(|row| takes(row.point));
            series.push(line(program.name(), color + 1, rows.map(|row| at(row.point, ms(&row.seconds[2]))).collect()));
        }
    }
    // One point of threads is that of ranks already.
    series.retain(|series| series.points.len() > usize::from(series.is_dashed) && !table.peers.is_empty());
    series
}

fn peers(table: &Table) -> Block {
    let series = of_peers(table);
    let caption = "CG iteration of minifenl and other programs against ranks x threads: solid for ranks of 1 thread, dashed for threads of 1 rank \
                   (in a weak study, on the box of 1 rank).";
    figure(
        table,
        "peers",
        caption,
        &Chart { title: "Other programs", x: "ranks x threads", y: "ms per CG iteration", is_log: true, series },
    )
}

/// The CG iterations of two studies with as many threads per rank, and of the other programs beside them.
pub fn of_two(names: [&str; 2], tables: [&Table; 2]) -> String {
    let threads = tables[0].rows.iter().map(|row| row.point.threads).min().unwrap_or(1);
    let takes = |point: Point| point.threads == threads && !point.is_uneven();
    let at = |point: Point, time: &SpreadReport| {
        let [y, low, high] = ms(time);
        [point.ranks as f64, y, low, high]
    };
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: &str, points: Vec<[f64; 4]>| {
        let color = series.len();
        series.extend((!points.is_empty()).then(|| Series { name: name.into(), is_dashed: false, color, points }));
    };
    for (name, table) in names.into_iter().zip(tables) {
        let rows = table.rows.iter().filter(|row| takes(row.point) && row.is_rated());
        let points = rows.filter_map(|row| Some(at(row.point, &row.phase("cg")?.seconds)));
        add(&format!("minifenl {}", name.rsplit('/').next().unwrap_or(name)), points.collect());
    }
    for program in Program::ALL {
        // Those of the first study that has some.
        let of = |table: &&Table| table.peers_of(program).any(|row| takes(row.point));
        let rows = tables.into_iter().find(of).into_iter().flat_map(|table| table.peers_of(program));
        let points = rows.filter(|row| takes(row.point)).map(|row| at(row.point, &row.seconds[2]));
        add(program.name(), points.collect());
    }
    let chart = Chart { title: "CG iteration", x: RANKS, y: "ms per CG iteration", is_log: true, series };
    chart.svg(&note(tables[0]), limit(tables[0]))
}

/// Measured iterations and the model's line.
fn of_model(table: &Table, model: &Prediction) -> Vec<Series> {
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
    let peers = Program::ALL.into_iter().enumerate().map(|(index, program)| {
        let rows = table.peers_of(program).filter(|row| row.point.threads == threads && !row.point.is_uneven());
        let points = rows.map(|row| {
            let [y, low, high] = ms(&row.seconds[2]);
            [row.point.ranks as f64, y, low, high]
        });
        Series { name: program.name().into(), is_dashed: false, color: 2 + index, points: points.collect() }
    });
    measured.into_iter().chain([model]).chain(peers).filter(|series| !series.points.is_empty()).collect()
}

fn line(table: &Table, model: &Prediction) -> Block {
    let series = of_model(table, model);
    let caption = "CG iteration: measured, and the model drawn through to 100,000 ranks. Beyond the measured ranks the line is an \
                   extrapolation with the factors of the measured machine.";
    figure(table, "model", caption, &Chart { title: "CG iteration and model", x: RANKS, y: "ms", is_log: true, series })
}
