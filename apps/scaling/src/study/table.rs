//! The table of a study: medians over the repeats, efficiency, communication and imbalance per point.
//!
//! ```text
//! w = ranks x threads (GPUs: ranks)          workers
//! rate = nodes / (t w)                       t: seconds of one call of a phase, of one iteration for cg, spmv, halo
//! efficiency = rate / rate of the smallest point
//! ```
//! On equal shares this is t(1) / t(p) for weak scaling and t(1) / (p t(p)) for strong scaling. It is a rate per CG iteration:
//! iterations grow with the box, so times to solution do not compare.

#[cfg(test)]
mod tests;

use super::others;
use super::peer::{self, PeerRow, Program};
use super::placement::Placement;
use super::plan::{Point, Study, file};
use super::record::Record;
use minifenl::Result;
use minifenl::run::report::SpreadReport;
use serde::Serialize;
use std::path::Path;

/// Phases of a row, one call of each, where a run has them.
pub const PHASES: [&str; 7] = ["graph", "fill", "boundary", "preconditioner", "cg", "spmv", "halo"];

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
    /// Largest deviation of a rank's nodes from their mean, per cent; null in reports of before `--imbalance`.
    pub imbalance_percent: Option<f64>,
    /// Most owned nodes of a rank.
    pub owned_max: Option<u64>,
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
    /// Other programs at the points where they ran.
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

    /// Whether each thread had a hardware thread of its own.
    pub fn is_rated(&self) -> bool {
        self.placement.oversubscribed.is_none()
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

/// Why a report does not count beside the first one that does.
fn mistake(record: &Record, first: Option<&Record>, study: &Study, point: Point) -> Option<String> {
    record.mistake(study, point).or_else(|| {
        let expected = first.map_or(record.kind(), Record::kind).join(" on ");
        let own = record.kind().join(" on ");
        (own != expected).then(|| format!("this is a run of {own}: expected {expected}, as in the first run"))
    })
}

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
            imbalance_percent: records[0].partition.imbalance_percent,
            owned_max: records[0].partition.owned_max,
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
                let record = Record::read(&path).map_err(|error| error.to_string());
                let first = table.first.as_ref().or(records.first());
                match record.and_then(|record| mistake(&record, first, study, point).map_or(Ok(record), Err)) {
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

    /// The rows of a program.
    pub fn peers_of(&self, program: Program) -> impl Iterator<Item = &PeerRow> {
        self.peers.iter().filter(move |row| row.program == program)
    }

    /// Returns the matching row with even boxes and the ratio of CG times.
    pub fn against_even(&self, row: &Row) -> Option<(&Row, f64)> {
        let point = Point::even(row.point.ranks, row.point.threads);
        let even = self.rows.iter().find(|even| even.point == point && even.is_rated())?;
        Some((even, row.iteration()? / even.iteration().filter(|seconds| *seconds > 0.0)?))
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
