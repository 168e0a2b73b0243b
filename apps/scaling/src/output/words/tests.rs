//! The conclusions of studies, on tables whose numbers are known.

use super::*;
use crate::model::Fit;
use crate::testing::{self, Sample, sample, table};

fn model(per_stage: f64, error_held_out: Option<f64>) -> Prediction {
    let fit = Fit { slowdown: 0.8, latency: 0.0, per_byte: 0.0, per_stage };
    Prediction {
        fit,
        fitted: vec!["1 rank x 1 thread".into()],
        held_out: vec![],
        error_fitted: 0.0,
        error_held_out,
        threads: 1,
        line: vec![],
        too_many: vec![64, 256],
    }
}

#[test]
fn a_model_without_communication_says_nothing_of_many_ranks() {
    assert!(end(&model(0.0, None)).contains("cannot say where scaling ends"));
    assert!(end(&model(1e-6, None)).contains("its error is unknown"));
    assert!(end(&model(1e-6, Some(0.05))).contains("largest error on held-out points is 5 %"));
    assert!(end(&model(1e-6, Some(0.2))).contains("too large for a prediction"));
    let words = super::model(&model(0.0, None));
    assert!(words.contains("caches held part of the data") && words.contains("too few nodes for 64 ranks"), "{words}");
    assert!(words.contains("(largest error 0.0 %); no point was held out. The line has"), "{words}");
    let mut whole = model(0.0, None);
    whole.fit.slowdown = 1.0;
    assert!(!super::model(&whole).contains("caches"));
}

#[test]
fn a_model_has_the_units_of_its_words() {
    let mut fitted = model(7.5e-6, Some(0.125));
    (fitted.fit.latency, fitted.fit.per_byte, fitted.error_fitted) = (2.5e-6, 0.2e-9, 0.0625);
    let words = super::model(&fitted);
    for part in [
        "0.800 bytes",
        "2.50 us per message",
        "a link of 5.00 GB/s",
        "7.50 us per stage",
        "largest error 6.2 %",
        "error 12.5 %",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn the_bound_is_the_bytes_over_the_triad() {
    // 2e5 bytes at 10 GB/s take 0.02 ms.
    let weak = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8, 16, 8], 1e-5), 1)]);
    let words = bandwidth(&weak.rows.iter().collect::<Vec<_>>()).unwrap();
    assert!(words.contains("take 0.02 of its time on 1 rank x 1 thread and 2.00 on 2 ranks x 1 thread"), "{words}");
    assert!(words.contains("caches held part of the data"), "{words}");
    // Caches may hold the data of the smallest point alone, and of none.
    for (first, last, are_told) in [(1e-5, 1e-3, true), (1e-3, 1e-3, false)] {
        let weak = table(Kind::Weak, &[(sample(1, [8; 3], first), 1), (sample(2, [8, 16, 8], last), 1)]);
        let words = bandwidth(&weak.rows.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(words.contains("caches held part of the data"), are_told, "{words}");
    }
}

/// 1.5 times the bandwidth for twice the workers.
#[test]
fn bandwidth_alone_limits_the_efficiency_per_worker() {
    let two = Sample { triad: 15.0, ..sample(2, [8, 16, 8], 1e-3) };
    let weak = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (two, 1)]);
    let words = bandwidth(&weak.rows.iter().collect::<Vec<_>>()).unwrap();
    let expected =
        "from 10.0 to 15.0 GB/s over 2x the workers: memory alone limits the efficiency of CG to about 0.75.";
    assert!(words.contains(expected), "{words}");
}

/// Repeats of 0.9, 1 and 1.1 ms: the ends of their spread are 0.92 and 1.08 ms.
#[test]
fn growth_of_iterations_and_spread_of_repeats_are_told() {
    let runs = |ranks, nodes, iterations| {
        [0.9e-3, 1e-3, 1.1e-3].map(|time| Sample { iterations, halo: 0.25 * time, ..sample(ranks, nodes, time) })
    };
    let all = [runs(1, [8; 3], 10), runs(2, [8, 16, 8], 14)].into_iter();
    let all: Vec<_> = all.flat_map(|runs| runs.into_iter().zip(1..)).collect();
    let weak = table(Kind::Weak, &all);
    let study = testing::study(Kind::Weak, vec![1, 2], vec![0], 3);
    let words = conclusions(&study, &weak, None).join("\n");
    for part in [
        "CG needs 10 iterations on 1 rank x 1 thread and 14 on 2 ranks x 1 thread",
        "25 % of its time is in the halo exchange",
        "differ by 20 % of their median",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn the_reach_is_that_of_the_workers() {
    assert!(reach(&[]).starts_with("No point had a hardware thread for each of its threads"));
}

/// Shares, cores and workers at their limits.
#[test]
fn what_is_said_of_a_machine_begins_above_its_limits() {
    let of = |samples: &[Sample]| table(Kind::Strong, &samples.iter().map(|&sample| (sample, 1)).collect::<Vec<_>>());
    let workers = |threads: usize| of(&[Sample { threads, cores: 16, ..sample(1, [8; 3], 1e-3) }]);
    for (threads, words) in [
        (1, "Only points with one worker had the cores"),
        (7, "At most 7 workers were measured"),
        (8, "Up to 8 workers were measured"),
    ] {
        let table = workers(threads);
        let found = reach(&table.rows.iter().collect::<Vec<_>>());
        assert!(found.starts_with(words) && found.ends_with('.'), "{found}");
    }
    let mut used = of(&[sample(1, [8; 3], 1e-3), sample(2, [8; 3], 1e-3)]);
    (used.rows[0].others, used.rows[1].others) = (Some(0.05), Some(0.1));
    assert_eq!(shared(&used), None);
    used.rows[0].others = Some(0.25);
    assert!(shared(&used).unwrap().contains("used up to 0.2 hardware threads during the runs (1 rank x 1 thread)"));
    used.rows.swap(0, 1);
    used.rows[0].others = None;
    assert!(shared(&used).is_some());
    // Two cores with two hardware threads each.
    let mut threads = of(&[2, 4].map(|threads| Sample { threads, cores: 4, ..sample(1, [8; 3], 1e-3) }));
    assert_eq!(hardware_threads(&threads), None);
    threads.first.as_mut().unwrap().provenance.machine.cores = Some(2);
    let words = hardware_threads(&threads).unwrap();
    assert!(
        words.starts_with("From 1 rank x 4 threads on, threads share the 2 cores of a, which have 4 hardware"),
        "{words}"
    );
    // On two hosts they may have a core each.
    threads.rows[1].placement.hosts = 2;
    assert_eq!(hardware_threads(&threads), None);
}

#[test]
fn repeats_are_too_few_below_three_and_differ_above_a_tenth() {
    let of = |times: &[f64]| {
        let runs: Vec<_> = times.iter().zip(1..).map(|(&time, repeat)| (sample(1, [8; 3], time), repeat)).collect();
        noise(&table(Kind::Strong, &runs).rows.iter().collect::<Vec<_>>())
    };
    assert!(of(&[1e-3, 1e-3]).unwrap().starts_with("1 rank x 1 thread has fewer than 3 runs"));
    assert_eq!(of(&[1e-3, 0.96e-3, 1.04e-3]), None);
    assert!(of(&[1e-3, 0.9e-3, 1.1e-3]).unwrap().contains("differ by 20 % of their median"));
}

/// The first point of the line below one half, or the last one above.
#[test]
fn the_end_of_scaling_is_that_of_the_line() {
    let line = |efficiencies: &[f64]| {
        let point = |(ranks, &efficiency): (usize, &f64)| crate::model::prediction::Predicted {
            partition: crate::model::Partition { ranks, ..Default::default() },
            seconds: 1.0,
            communication: 0.0,
            efficiency,
        };
        let line = [1, 16, 256].into_iter().zip(efficiencies).map(point).collect();
        end(&Prediction { line, ..model(1e-6, Some(0.1)) })
    };
    assert!(line(&[1.0, 0.4, 0.2]).starts_with("The model falls below half the efficiency of one rank at 16 ranks; its largest error on held-out points is 10 %"));
    assert!(
        line(&[1.0, 0.75, 0.5]).starts_with("The model stays above half the efficiency of one rank up to 256 ranks;")
    );
}

#[test]
fn one_host_is_told_of_if_no_point_has_more() {
    let mut found = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8, 16, 8], 1e-3), 1)]);
    let study = testing::study(Kind::Weak, vec![1, 2], vec![0], 1);
    let is_told = |table: &Table| conclusions(&study, table, None).join("\n").contains("All ranks were on one host");
    assert!(is_told(&found));
    found.rows[1].placement.hosts = 2;
    assert!(!is_told(&found));
}
