//! Tests of limits and lines against numbers by hand.

use super::*;
use crate::model::{Fit, Partition, prediction::Predicted};
use crate::study::Kind;
use crate::study::peer::PeerRow;
use crate::testing::{Sample, sample, table};

#[test]
fn the_limit_is_the_bytes_over_the_triad_in_milliseconds() {
    // 3e6 bytes at 10 GB/s take 0.3 ms; more threads and uneven boxes have no limit of their own.
    let (one, two) = (sample(1, [8; 3], 1e-3), sample(2, [8, 16, 8], 1e-3));
    let samples = [
        Sample { bytes: 3e6, ..one },
        Sample { bytes: 8e6, triad: 20.0, ..two },
        Sample { bytes: 9e9, threads: 2, cores: 4, ..one },
        Sample { bytes: 9e9, imbalance: 50, ..two },
    ];
    let limits = limit(&table(Kind::Weak, &samples.map(|sample| (sample, 1))));
    let points: Vec<[f64; 2]> = limits.into_iter().flat_map(|limit| limit.points).collect();
    assert!(
        points.len() == 2 && (points[0][1] - 0.3).abs() < 1e-12 && (points[1][1] - 0.4).abs() < 1e-12,
        "{points:?}"
    );
    assert_eq!(points.iter().map(|point| point[0]).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(
        ms(&SpreadReport { p10_seconds: 1e-3, median_seconds: 2e-3, p90_seconds: 3e-3, noisy: true }),
        [2.0, 1.0, 3.0]
    );
}

/// Lines by name and threads, in the units of their values, with ranks along x.
#[test]
fn lines_have_the_numbers_of_their_rows() {
    let (one, two) = (sample(1, [8; 3], 1e-3), sample(2, [8; 3], 0.5e-3));
    let samples = [
        one,
        Sample { halo: 0.125e-3, ..two },
        Sample { threads: 2, cores: 4, ..two },
        Sample { imbalance: 50, ..two },
    ];
    let table = table(Kind::Strong, &samples.map(|sample| (sample, 1)));
    let names = [("cg", "CG iteration"), ("halo", "halo")];
    let found = series(&table, &names, &|row, name| Some(ms(&row.phase(name)?.seconds)));
    let lines: Vec<_> = found.iter().map(|line| (line.name.as_str(), line.is_dashed, line.color)).collect();
    let expected = ["CG iteration, 1 thread", "CG iteration, 2 threads", "halo, 1 thread", "halo, 2 threads"];
    assert_eq!(
        lines,
        [(expected[0], false, 0), (expected[1], true, 0), (expected[2], false, 1), (expected[3], true, 1)]
    );
    assert_eq!(found[0].points, [[1.0, 1.0, 1.0, 1.0], [2.0, 0.5, 0.5, 0.5]]);
    assert_eq!((&found[2].points[1], &found[3].points[..]), (&[2.0, 0.125, 0.125, 0.125], &[[2.0, 0.0, 0.0, 0.0]][..]));
}

/// What is expected of uneven boxes is the time of even ones times the rows of the fullest rank; other programs are drawn over workers, and
/// the model over ranks.
#[test]
fn lines_of_uneven_boxes_other_programs_and_the_model_are_in_milliseconds() {
    let two = Sample { cores: 4, ..sample(2, [8, 16, 8], 2e-3) };
    let runs = [
        sample(1, [8; 3], 1e-3),
        two,
        Sample { imbalance: 50, iteration: 3.5e-3, ..two },
        Sample { threads: 2, cores: 4, ..sample(1, [8; 3], 0.75e-3) },
    ];
    let mut table = table(Kind::Weak, &runs.map(|sample| (sample, 1)));
    let flat = |x: f64, y: f64| [x, y, y, y];
    let of = |series: Vec<Series>| -> Vec<(String, bool, Vec<[f64; 4]>)> {
        let round =
            |points: Vec<[f64; 4]>| points.into_iter().map(|point| point.map(|x| (1e9 * x).round() / 1e9)).collect();
        series.into_iter().map(|line| (line.name, line.is_dashed, round(line.points))).collect()
    };
    let expected = [
        ("0 %", false, vec![flat(1.0, 1.0), flat(2.0, 2.0)]),
        ("50 %", false, vec![flat(2.0, 3.5)]),
        ("50 %, by rows", true, vec![flat(2.0, 3.0)]),
    ];
    let named = |(name, is_dashed, points): (&str, bool, Vec<[f64; 4]>)| (name.to_string(), is_dashed, points);
    assert_eq!(of(of_uneven(&table)), expected.map(named));
    let time = |seconds: f64| SpreadReport::new(&[seconds]);
    let peer = |ranks, threads, seconds| PeerRow {
        program: Program::Fenl,
        point: Point::even(ranks, threads),
        runs: 1,
        seconds: [1.0, 2.0, seconds, 4.0].map(time),
    };
    table.peers = vec![peer(1, 1, 5e-3), peer(1, 2, 4e-3), peer(2, 1, 6e-3)];
    let expected = [
        ("minifenl, ranks", false, vec![flat(1.0, 1.0), flat(2.0, 2.0)]),
        ("FENL, ranks", false, vec![flat(1.0, 5.0), flat(2.0, 6.0)]),
        ("minifenl, threads", true, vec![flat(1.0, 1.0), flat(2.0, 0.75)]),
        ("FENL, threads", true, vec![flat(1.0, 5.0), flat(2.0, 4.0)]),
    ];
    assert_eq!(of(of_peers(&table)), expected.map(named));
    let predicted = |ranks, seconds| Predicted {
        partition: Partition { ranks, ..Partition::default() },
        seconds,
        communication: 0.0,
        efficiency: 1.0,
    };
    let model = Prediction {
        fit: Fit { slowdown: 1.0, latency: 0.0, per_byte: 0.0, per_stage: 0.0 },
        fitted: vec![],
        held_out: vec![],
        error_fitted: 0.0,
        error_held_out: None,
        threads: 1,
        line: vec![predicted(1, 1.5e-3), predicted(64, 8e-3)],
        too_many: vec![],
    };
    let expected = [
        ("measured, 1 thread", false, vec![flat(1.0, 1.0), flat(2.0, 2.0)]),
        ("model", true, vec![flat(1.0, 1.5), flat(64.0, 8.0)]),
        ("FENL", false, vec![flat(1.0, 5.0), flat(2.0, 6.0)]),
    ];
    assert_eq!(of(of_model(&table, &model)), expected.map(named));
}

/// Points with more threads per rank than the smallest of the first study change nothing.
#[test]
fn two_studies_are_drawn_for_the_fewest_threads() {
    let (one, two) = (sample(1, [8; 3], 1e-3), sample(2, [8; 3], 0.5e-3));
    let samples = [(one, 1), (two, 1), (Sample { threads: 2, cores: 4, ..two }, 1)];
    let [few, all] = [2, 3].map(|count| table(Kind::Strong, &samples[..count]));
    assert_eq!(of_two(["a", "b"], [&all, &all]), of_two(["a", "b"], [&few, &few]));
}
