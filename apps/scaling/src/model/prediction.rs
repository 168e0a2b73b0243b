//! The model of a study: fitted on its smallest points, checked on the others, drawn through to 100,000 ranks.
//!
//! Oversubscribed points and uneven boxes are left out. The first two thirds of the points are fitted. The largest point's bandwidth per rank stands
//! for all larger runs: on full hosts it no longer changes.

use super::{DRAWN, Fit, Partition, Sample, machine};
use crate::study::{Row, Study, Table};
use rayon::prelude::*;
use serde::Serialize;

/// A point of the line.
#[derive(Clone, Debug, Serialize)]
pub struct Predicted {
    /// The parts of all ranks.
    pub partition: Partition,
    /// Seconds of an iteration of CG.
    pub seconds: f64,
    /// Share of messages, ghosts and all-reduces in it.
    pub communication: f64,
    /// Relative to the smallest of the line, per node and rank.
    pub efficiency: f64,
}

/// A fitted model.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The factors.
    pub fit: Fit,
    /// Points that were fitted.
    pub fitted: Vec<String>,
    /// Points that were not.
    pub held_out: Vec<String>,
    /// Largest relative error on the fitted points.
    pub error_fitted: f64,
    /// Largest relative error on the other points; null without other points.
    pub error_held_out: Option<f64>,
    /// Threads of each rank on the line.
    pub threads: usize,
    /// The line.
    pub line: Vec<Predicted>,
    /// Ranks of the line for which the box has too few nodes.
    pub too_many: Vec<usize>,
}

/// The amounts of a partition with this bandwidth per rank; `variant`: bytes of the CG variant over those of classic CG.
fn amounts(partition: &Partition, bandwidth: f64, variant: f64, reductions: f64) -> [f64; 4] {
    [
        variant * partition.bytes_max as f64 / bandwidth,
        partition.neighbours_max as f64,
        machine::VALUE * partition.ghosts_max as f64,
        reductions * machine::stages(partition.ranks),
    ]
}

/// Bandwidth per rank in bytes per second, and bytes relative to classic CG.
fn per_rank(row: &Row, partition: &Partition) -> Option<(f64, f64)> {
    let bandwidth = 1e9 * row.triad_gb_per_s? / row.point.ranks as f64;
    Some((bandwidth, if row.bytes > 0.0 { row.bytes / partition.bytes as f64 } else { 1.0 }))
}

impl Prediction {
    /// Fits a study; `None` without a point that has times, bandwidth and cores of its own.
    pub fn new(study: &Study, table: &Table) -> Option<Self> {
        let rated = table.rows.iter().filter(|row| row.is_rated() && !row.point.is_uneven());
        let points: Vec<(&Row, Partition, f64, f64, Sample)> = rated
            .filter_map(|row| {
                let partition = Partition::new(row.nodes, row.point.ranks).ok()?;
                let (bandwidth, variant) = per_rank(row, &partition)?;
                let seconds = row.iteration().filter(|seconds| *seconds > 0.0)?;
                let amounts = amounts(&partition, bandwidth, variant, row.reductions);
                Some((row, partition, bandwidth, variant, Sample { amounts, seconds }))
            })
            .collect();
        let count = (2 * points.len()).div_ceil(3);
        let samples: Vec<Sample> = points.iter().map(|point| point.4).collect();
        let fit = Fit::new(&samples[..count])?;
        let (last, _, bandwidth, variant, _) = *points.last()?;
        let draw = |ranks: usize| {
            let partition = Partition::new(study.nodes_of(ranks).ok()?, ranks).ok()?;
            let amounts = amounts(&partition, bandwidth, variant, last.reductions);
            let seconds = fit.predict(&amounts);
            let communication = 1.0 - fit.slowdown * amounts[0] / seconds;
            Some(Predicted { partition, seconds, communication, efficiency: 1.0 })
        };
        let found: Vec<(usize, Option<Predicted>)> = DRAWN.into_par_iter().map(|ranks| (ranks, draw(ranks))).collect();
        let too_many = found.iter().filter(|(_, point)| point.is_none()).map(|(ranks, _)| *ranks).collect();
        let mut line: Vec<Predicted> = found.into_iter().filter_map(|(_, point)| point).collect();
        let rate = |point: &Predicted| point.partition.owned as f64 / (point.seconds * point.partition.ranks as f64);
        if let Some(base) = line.first().map(rate) {
            line.iter_mut().for_each(|point| point.efficiency = rate(point) / base);
        }
        let name = |point: &(&Row, Partition, f64, f64, Sample)| point.0.point.to_string();
        Some(Prediction {
            fit,
            fitted: points[..count].iter().map(name).collect(),
            held_out: points[count..].iter().map(name).collect(),
            error_fitted: fit.error(&samples[..count])?,
            error_held_out: fit.error(&samples[count..]),
            threads: last.point.threads,
            line,
            too_many,
        })
    }

    /// Whether the fitted points show a cost of messages, ghosts or all-reduces.
    pub fn shows_communication(&self) -> bool {
        self.fit.latency + self.fit.per_byte + self.fit.per_stage > 0.0
    }

    /// The first ranks of the line whose efficiency is below one half.
    pub fn ends(&self) -> Option<usize> {
        self.line.iter().find(|point| point.efficiency < 0.5).map(|point| point.partition.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Kind;
    use crate::study::plan::file;
    use crate::testing;

    /// Predicts a study from its reports.
    fn of(study: &Study, samples: &[testing::Sample]) -> Prediction {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("runs")).unwrap();
        for sample in samples {
            std::fs::write(folder.path().join(file(sample.point(), 1)), sample.json().to_string()).unwrap();
        }
        Prediction::new(study, &Table::read(study, folder.path()).unwrap()).unwrap()
    }

    /// A study of a machine with a known latency per message and per stage: 1 to 32 ranks on 32 cores. Points on more than 8
    /// ranks take `slower` times as long as that.
    fn prediction(kind: Kind, nodes: u64, slower: f64) -> (Prediction, Vec<f64>) {
        let ranks = vec![1, 2, 4, 8, 16, 32];
        let study = Study {
            kind,
            nodes: [nodes; 3],
            device: "cpu".into(),
            flags: vec![],
            ranks,
            threads: vec![1],
            workers: None,
            imbalance: vec![0],
            repeats: 1,
        };
        let (mut times, mut samples) = (Vec::new(), Vec::new());
        for &ranks in &study.ranks {
            let nodes = study.nodes_of(ranks).unwrap();
            let partition = Partition::new(nodes, ranks).unwrap();
            let [m, n, _, s] = amounts(&partition, 10e9, 1.0, 2.0);
            let iteration = (1.1 * m + 3e-6 * n + 7e-6 * s) * if ranks > 8 { slower } else { 1.0 };
            times.push(iteration);
            let (triad, bytes) = (10.0 * ranks as f64, partition.bytes as f64);
            samples.push(testing::Sample { ranks, nodes, iteration, triad, bytes, cores: 32, ..Default::default() });
        }
        (of(&study, &samples), times)
    }

    #[test]
    fn a_study_of_a_known_machine_is_predicted_on_its_held_out_points() {
        let (found, times) = prediction(Kind::Weak, 6, 1.0);
        assert_eq!((found.fitted.len(), found.held_out.len()), (4, 2));
        assert!(found.error_fitted < 1e-6 && found.error_held_out.unwrap() < 0.05, "{found:?}");
        assert!((found.line[0].seconds / times[0] - 1.0).abs() < 1e-6 && found.line[0].communication.abs() < 1e-9);
        // 100,000 ranks and a prime number of them: every node has one owner, and neighbours expect what is sent.
        for Predicted { partition, .. } in &found.line {
            assert_eq!(partition.owned, partition.nodes.iter().product::<u64>(), "{partition:?}");
            assert_eq!((partition.sent, partition.disagreement), (partition.ghosts, 0), "{partition:?}");
        }
        let last = found.line.last().unwrap();
        assert_eq!((last.partition.ranks, found.line.len(), found.too_many.len()), (100_000, DRAWN.len(), 0));
        // 17 stages of two all-reduces at 7 us are more than the 10 us of memory.
        assert!(last.communication > 0.9 && found.ends().is_some(), "{last:?}");
    }

    #[test]
    fn the_stated_error_is_that_of_points_that_were_not_fitted() {
        // A box that is too small for the drawn ranks: the test is about the fit.
        let [(found, _), (slow, _)] = [1.0, 1.25].map(|slower| prediction(Kind::Strong, 24, slower));
        // The fit does not see the slower points, so it is the same, and too low by 1 - 1 / 1.25 for them.
        assert_eq!((slow.fit, slow.error_fitted), (found.fit, found.error_fitted));
        assert_eq!(slow.held_out, ["16 ranks x 1 thread", "32 ranks x 1 thread"]);
        let error = slow.error_held_out.unwrap();
        assert!((error - 0.2).abs() < 0.05 && slow.error_fitted < 1e-6, "{error} {}", slow.error_fitted);
    }

    /// Two thirds of the points are fitted, rounded up.
    #[test]
    fn thirds_of_the_points_are_held_out() {
        for (ranks, expected) in
            [(vec![1], (1, 0)), (vec![1, 2], (2, 0)), (vec![1, 2, 4, 8], (3, 1)), (vec![1, 2, 4, 8, 16], (4, 1))]
        {
            let study = testing::study(Kind::Strong, ranks, vec![0], 1);
            let sample = |&ranks: &usize| testing::Sample { ranks, cores: 16, ..Default::default() };
            let found = of(&study, &study.ranks.iter().map(sample).collect::<Vec<_>>());
            assert_eq!((found.fitted.len(), found.held_out.len()), expected, "{found:?}");
            assert_eq!(found.error_held_out.is_some(), expected.1 > 0);
        }
    }

    #[test]
    fn two_cores_have_an_error_but_no_cost_of_communication() {
        // 1 x 1, 1 x 2 and 2 x 1; 2 x 2 is oversubscribed. The third point is held out, and takes 1.3 times the model's time.
        let study = Study { threads: vec![1, 2], ..testing::study(Kind::Strong, vec![1, 2], vec![0], 1) };
        let bytes = |ranks| Partition::new(study.nodes_of(ranks).unwrap(), ranks).unwrap().bytes_max as f64;
        let sample = |ranks: usize, threads, factor: f64| {
            let bandwidth = 10e9 * threads as f64;
            let iteration = factor * bytes(ranks) / bandwidth;
            let (triad, nodes) = (1e-9 * bandwidth * ranks as f64, study.nodes_of(ranks).unwrap());
            let all = Partition::new(nodes, ranks).unwrap().bytes as f64;
            testing::Sample { ranks, threads, nodes, iteration, triad, bytes: all, ..Default::default() }
        };
        let found = of(&study, &[sample(1, 1, 1.2), sample(1, 2, 1.2), sample(2, 1, 1.3 * 1.2), sample(2, 2, 5.0)]);
        assert_eq!(found.fitted, ["1 rank x 1 thread", "1 rank x 2 threads"]);
        assert_eq!(found.held_out, ["2 ranks x 1 thread"]);
        assert!((found.fit.slowdown - 1.2).abs() < 1e-9 && !found.shows_communication(), "{found:?}");
        assert!((found.error_held_out.unwrap() - (1.0 - 1.0 / 1.3)).abs() < 1e-6, "{found:?}");
    }

    /// Bytes of the fullest rank over its bandwidth, its neighbours, 8 bytes per ghost, and 3 stages for 5 ranks.
    #[test]
    fn amounts_and_bandwidths_equal_those_by_hand() {
        let partition = Partition {
            ranks: 5,
            bytes: 900_000,
            bytes_max: 300_000,
            neighbours_max: 7,
            ghosts_max: 60,
            ghosts: 200,
            ..Partition::default()
        };
        assert_eq!(amounts(&partition, 1e6, 0.5, 2.0), [0.15, 7.0, 480.0, 6.0]);
        let table =
            testing::table(Kind::Strong, &[(testing::Sample { ranks: 2, triad: 30.0, ..Default::default() }, 1)]);
        let row = |bytes| Row { bytes, ..table.rows[0].clone() };
        assert_eq!(per_rank(&row(450_000.0), &partition), Some((15e9, 0.5)));
        assert_eq!(per_rank(&row(0.0), &partition), Some((15e9, 1.0)));
        assert_eq!(per_rank(&Row { triad_gb_per_s: None, ..row(1.0) }, &partition), None);
    }

    /// Each point of the line from the factors of the fit and its own partition, with the bandwidth per rank of the largest point.
    #[test]
    fn the_line_follows_from_the_factors_and_its_partitions() {
        let (found, _) = prediction(Kind::Weak, 6, 1.0);
        let rate = |point: &Predicted| point.partition.owned as f64 / point.seconds / point.partition.ranks as f64;
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
        for point in &found.line {
            let (fit, partition) = (&found.fit, &point.partition);
            let memory = fit.slowdown * partition.bytes_max as f64 / 10e9;
            let stages = (partition.ranks as f64).log2().ceil();
            let others = fit.latency * partition.neighbours_max as f64
                + fit.per_byte * 8.0 * partition.ghosts_max as f64
                + fit.per_stage * 2.0 * stages;
            close(point.seconds / (memory + others), 1.0);
            close(point.communication, others / (memory + others));
            close(point.efficiency, rate(point) / rate(&found.line[0]));
            assert_eq!(partition.nodes, minifenl::mesh::nodes_for_ranks([6; 3], partition.ranks as u64).unwrap());
        }
        let end = found.ends().unwrap();
        assert!(found.line.iter().all(|point| (point.efficiency < 0.5) == (point.partition.ranks >= end)), "{end}");
        assert_eq!(
            (found.threads, &*found.fitted[0], &*found.held_out[1]),
            (1, "1 rank x 1 thread", "32 ranks x 1 thread")
        );
    }
}
