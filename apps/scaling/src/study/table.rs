//! The table of a study: medians over the repeats, efficiency, communication and imbalance per point.
//!
//! ```text
//! w = ranks x threads (GPUs: ranks)          workers
//! rate = nodes / (t w)                       t: seconds of one call of a phase, of one iteration for cg, spmv, halo
//! efficiency = rate / rate of the smallest point
//! ```
//! On equal shares this is t(1) / t(p) for weak scaling and t(1) / (p t(p)) for strong scaling. It is a rate per CG iteration:
//! iterations grow with the box, so times to solution do not compare.

use super::others;
use super::peer::{self, PeerRow};
use super::placement::Placement;
use super::plan::{Point, Study, file};
use super::record::Record;
use minifenl::Result;
use minifenl::run::report::SpreadReport;
use serde::Serialize;
use std::path::Path;

/// Phases of a row, one call of each.
pub const PHASES: [&str; 6] = ["graph", "fill", "boundary", "cg", "spmv", "halo"];

/// A phase at one point.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseRow {
    /// Name in the report.
    pub name: String,
    /// Seconds of one call on the slowest rank, over the repeats.
    pub seconds: SpreadReport,
    /// Slowest rank over the mean, the median of the repeats.
    pub imbalance: f64,
    /// Of the smallest point; null for `halo`, on oversubscribed points, and where the smallest one is oversubscribed.
    pub efficiency: Option<f64>,
}

/// A point.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Ranks and threads.
    #[serde(flatten)]
    pub point: Point,
    /// Nodes along each axis of the box.
    pub nodes: [u64; 3],
    /// Runs that count.
    pub runs: usize,
    /// CG iterations of a run, the median.
    pub iterations: f64,
    /// Sums over all ranks in an iteration.
    pub reductions: f64,
    /// Seconds of the whole run, over the repeats.
    pub total: SpreadReport,
    /// Triad bandwidth of all ranks, GB/s, the median.
    pub triad_gb_per_s: Option<f64>,
    /// Bytes that an iteration of CG moves, all ranks, by formula.
    pub bytes: f64,
    /// Time in `halo` on the slowest rank over that in `cg`: waiting and moving.
    pub communication: f64,
    /// Hosts, binding, oversubscription.
    pub placement: Placement,
    /// Hardware threads that other programs used during the runs, the median; null if not known.
    pub others: Option<f64>,
    /// What is timed.
    pub phases: Vec<PhaseRow>,
}

/// All points, and what is wrong with them.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The points, smallest first.
    pub rows: Vec<Row>,
    /// Runs that are missing or do not count, in words.
    pub missing: Vec<String>,
    /// miniFE at the points where it ran.
    pub peers: Vec<PeerRow>,
    /// The first record: machine, build, date.
    #[serde(skip)]
    pub first: Option<Record>,
}

impl Row {
    /// A phase by its name.
    pub fn phase(&self, name: &str) -> Option<&PhaseRow> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Median seconds of an iteration of CG.
    pub fn iteration(&self) -> Option<f64> {
        self.phase("cg").map(|cg| cg.seconds.median_seconds)
    }

    /// Nodes of the box.
    pub fn count(&self) -> f64 {
        self.nodes.iter().map(|&nodes| nodes as f64).product()
    }
}

/// Hardware threads that other programs may use beside a run that needs all others.
const SPARE: f64 = 0.25;

/// Says that a run and other programs need more hardware threads than there are, if they do.
fn crowded(point: Point, record: &Record, others: f64) -> Option<String> {
    let (machine, workers) = (&record.provenance.machine, point.workers());
    let is_crowded = record.device == "cpu" && workers as f64 + others > machine.hardware_threads as f64 + SPARE;
    is_crowded.then(|| {
        format!(
            "its threads and other programs, which used {others:.1}, share {} hardware threads of {}",
            machine.hardware_threads, machine.host
        )
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    if values.is_empty() { 0.0 } else { SpreadReport::new(&values).median_seconds }
}

impl Row {
    fn new(point: Point, nodes: [u64; 3], records: &[Record], others: Vec<f64>) -> Self {
        let phases = PHASES.iter().filter_map(|name| {
            let times: Vec<f64> = records.iter().filter_map(|record| record.seconds_per_call(name)).collect();
            let imbalance = median(records.iter().filter_map(|record| record.phase(name)).map(|phase| phase.imbalance));
            let phase =
                || PhaseRow { name: name.to_string(), seconds: SpreadReport::new(&times), imbalance, efficiency: None };
            (!times.is_empty()).then(phase)
        });
        let seconds = |record: &Record, name| record.phase(name).map_or(0.0, |phase| phase.seconds);
        let calls = |record: &Record| record.cg_iterations.max(1) as f64;
        let triads: Vec<f64> = records.iter().filter_map(|record| record.triad_gb_per_s).collect();
        let totals: Vec<f64> = records.iter().map(|record| record.total_seconds).collect();
        let mut placement = Placement::new(&records[0]);
        placement.oversubscribed = records.iter().find_map(|record| Placement::new(record).oversubscribed);
        let others = (!others.is_empty()).then(|| median(others.into_iter()));
        placement.oversubscribed = placement.oversubscribed.or_else(|| crowded(point, &records[0], others?));
        Row {
            point,
            nodes,
            runs: records.len(),
            iterations: median(records.iter().map(|record| record.cg_iterations as f64)),
            reductions: median(records.iter().map(|record| record.cg_reductions as f64 / calls(record))),
            total: SpreadReport::new(&totals),
            triad_gb_per_s: (!triads.is_empty()).then(|| median(triads.into_iter())),
            bytes: median(records.iter().map(|record| record.phase("cg").map_or(0.0, |cg| cg.bytes / cg.calls as f64))),
            communication: median(records.iter().map(|record| match seconds(record, "cg") {
                cg if cg > 0.0 => seconds(record, "halo") / cg,
                _ => 0.0,
            })),
            placement,
            others,
            phases: phases.collect(),
        }
    }
}

impl Table {
    /// Reads what is in a folder.
    ///
    /// # Errors
    /// Those of [`Study::nodes_of`].
    pub fn read(study: &Study, folder: &Path) -> Result<Self> {
        let mut table = Table { rows: Vec::new(), missing: Vec::new(), peers: peer::rows(study, folder), first: None };
        for point in study.points() {
            let (nodes, mut records, mut used) = (study.nodes_of(point.ranks)?, Vec::new(), Vec::new());
            for repeat in 1..=study.repeats {
                let path = folder.join(file(point, repeat));
                if !path.exists() {
                    table.missing.push(format!("{point}, run {repeat}: no report"));
                    continue;
                }
                let record = Record::read(&path);
                match record.map_err(|error| error.to_string()).and_then(|record| match record.mistake(point, nodes) {
                    None => Ok(record),
                    Some(mistake) => Err(mistake),
                }) {
                    Ok(record) => {
                        records.push(record);
                        used.extend(others::read(&path));
                    }
                    Err(reason) => table.missing.push(format!("{point}, run {repeat}: {reason}")),
                }
            }
            if !records.is_empty() {
                table.rows.push(Row::new(point, nodes, &records, used));
                table.first = table.first.take().or_else(|| records.into_iter().next());
            }
        }
        table.rate();
        Ok(table)
    }

    /// Sets the efficiencies.
    fn rate(&mut self) {
        let Some(base) = self.rows.first().cloned().filter(|base| base.placement.oversubscribed.is_none()) else {
            return;
        };
        let rate = |row: &Row, seconds: f64| row.count() / (seconds * row.point.workers() as f64);
        for row in self.rows.iter_mut().filter(|row| row.placement.oversubscribed.is_none()) {
            let whole = row.clone();
            for phase in row.phases.iter_mut().filter(|phase| phase.name != "halo") {
                let own = phase.seconds.median_seconds;
                let first = base.phase(&phase.name).map(|first| first.seconds.median_seconds);
                phase.efficiency =
                    first.filter(|&first| first > 0.0 && own > 0.0).map(|first| rate(&whole, own) / rate(&base, first));
            }
        }
    }

    /// Why points have no efficiency, if some have none.
    pub fn refusal(&self) -> Option<String> {
        let points: Vec<String> = self
            .rows
            .iter()
            .filter_map(|row| Some(format!("{} ({})", row.point, row.placement.oversubscribed.as_ref()?)))
            .collect();
        let first = self.rows.first()?;
        if points.is_empty() {
            return None;
        }
        let what = if first.placement.oversubscribed.is_some() {
            "No efficiency is given: the smallest point, to which the others are compared, is oversubscribed"
        } else {
            "No efficiency is given for oversubscribed points, whose threads take turns"
        };
        Some(format!("{what}: {}. Use a machine with more cores, or an idle one.", points.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Kind;
    use crate::testing::Sample;

    fn table(kind: Kind, samples: &[(Sample, usize)]) -> Table {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("runs")).unwrap();
        for (sample, repeat) in samples {
            let point = Point { ranks: sample.ranks, threads: sample.threads };
            std::fs::write(folder.path().join(file(point, *repeat)), sample.json().to_string()).unwrap();
        }
        let mut ranks: Vec<usize> = samples.iter().map(|(sample, _)| sample.ranks).collect();
        ranks.dedup();
        let repeats = samples.iter().map(|(_, repeat)| *repeat).max().unwrap();
        let study =
            Study { kind, nodes: [8; 3], device: "cpu".into(), flags: vec![], ranks, threads: vec![1], repeats };
        Table::read(&study, folder.path()).unwrap()
    }

    fn sample(ranks: usize, nodes: [u64; 3], iteration: f64) -> Sample {
        Sample { ranks, nodes, iteration, ..Sample::default() }
    }

    #[test]
    fn weak_and_strong_efficiencies_equal_those_by_hand() {
        let weak = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8, 16, 8], 1.25e-3), 1)]);
        let cg = |table: &Table, row: usize| table.rows[row].phase("cg").unwrap().efficiency.unwrap();
        assert!((cg(&weak, 0) - 1.0).abs() < 1e-12 && (cg(&weak, 1) - 0.8).abs() < 1e-12);
        // Half the time would be perfect; it is 0.625 of it.
        let strong = table(Kind::Strong, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8; 3], 0.625e-3), 1)]);
        assert!((cg(&strong, 1) - 0.8).abs() < 1e-12);
        assert!(strong.refusal().is_none() && strong.missing.is_empty());
        assert!(weak.rows[1].phase("halo").unwrap().efficiency.is_none());
    }

    #[test]
    fn repeats_have_a_median_and_a_spread() {
        let times = [1.2e-3, 1.0e-3, 1.1e-3];
        let runs: Vec<_> = times.iter().zip(1..).map(|(&time, repeat)| (sample(1, [8; 3], time), repeat)).collect();
        let row = table(Kind::Weak, &runs).rows.remove(0);
        let cg = &row.phase("cg").unwrap().seconds;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(cg.p10_seconds, 1.0e-3) && close(cg.median_seconds, 1.1e-3) && close(cg.p90_seconds, 1.2e-3));
        assert_eq!((row.runs, row.iterations, row.reductions), (3, 10.0, 2.0));
        let halo = Sample { halo: 0.3e-3, ..sample(1, [8; 3], 1e-3) };
        assert!(close(table(Kind::Weak, &[(halo, 1)]).rows[0].communication, 0.3));
    }

    #[test]
    fn oversubscribed_points_have_no_efficiency_but_a_reason() {
        let four = sample(4, [8, 16, 16], 2e-3);
        let found = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (four, 1)]);
        assert!(found.rows[0].phase("cg").unwrap().efficiency.is_some());
        assert!(found.rows[1].phases.iter().all(|phase| phase.efficiency.is_none()));
        let words = found.refusal().unwrap();
        assert!(words.contains("4 ranks x 1 thread (4 threads share 2 hardware threads of a)"), "{words}");
        let alone = table(Kind::Weak, &[(four, 1)]);
        assert!(alone.refusal().unwrap().starts_with("No efficiency is given: the smallest point"));
        assert!(alone.rows[0].phases.iter().all(|phase| phase.efficiency.is_none()));
    }

    #[test]
    fn a_point_is_oversubscribed_by_other_programs_too() {
        let record = Sample { ranks: 2, ..Sample::default() }.record();
        let point = |ranks| Point { ranks, threads: 1 };
        assert_eq!((crowded(point(2), &record, 0.2), crowded(point(1), &record, 1.1)), (None, None));
        let words = "its threads and other programs, which used 0.4, share 2 hardware threads of a";
        assert_eq!(crowded(point(2), &record, 0.4).as_deref(), Some(words));
    }

    #[test]
    fn reports_of_other_runs_are_named() {
        let found = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [9; 3], 1e-3), 1)]);
        assert_eq!(found.rows.len(), 1);
        assert!(
            found.missing[0].contains("9x9x9 nodes: expected 2 ranks x 1 thread with 8x16x8 nodes"),
            "{:?}",
            found.missing
        );
    }
}
