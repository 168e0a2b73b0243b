//! The study on small meshes: every strategy is there, right, and found out if it is wrong.

use super::study::{Numbers, difference, fingerprint, largest_difference};
use super::*;
use crate::Error;
use crate::comm::Solo;
use crate::comm::ranks::{on_ranks, on_ranks_that_add};
use crate::mesh::CoordinateMap;
use crate::run::deck::{Nodes, ProblemKind};
use crate::run::forecast::{Choices, Forecast};
use crate::run::silent;
use crate::space::{Scan, Serial, Threads};

fn deck(edges: [u64; 3]) -> Deck {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new(edges).ok();
    deck.mesh.map = CoordinateMap::TWIST;
    deck
}

#[test]
fn every_strategy_is_measured_and_right() {
    let study = strategies_on(&Threads::new(2).unwrap(), &deck([9, 8, 11]), 3, &Solo, &silent).unwrap();
    assert!(study.verified, "{}", study.table());
    let names: Vec<_> = study.strategies.iter().map(|strategy| (strategy.step, strategy.name.as_str())).collect();
    let fills = ["scatter", "gather", "colour", "unsafe"]
        .map(|fill| ["intrepid", "table", "fused"].map(|kernel| format!("{fill}, {kernel}")));
    let expected: Vec<_> = ["map", "dashmap", "gather", "sort"]
        .map(|name| ("graph", name))
        .into_iter()
        .chain(fills.as_flattened().iter().map(|name| ("fill", name.as_str())))
        .chain(["crs", "pattern", "symmetric"].map(|format| ("product", format)))
        .collect();
    assert_eq!(names, expected);
    assert!(study.table().contains("\nproblem     heat on hex8\n"), "{}", study.table());
    let papers: Vec<_> = study.strategies.iter().filter(|strategy| strategy.is_papers).collect();
    assert_eq!(papers.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["map", "scatter, intrepid", "crs"]);
    for strategy in &study.strategies {
        assert_eq!(strategy.seconds.len(), 3);
        assert!(
            strategy.seconds.contains(&strategy.median_seconds.unwrap()) && strategy.run_bytes > 10_000,
            "{strategy:?}"
        );
        assert!(strategy.speedup == Some(1.0) || !strategy.is_papers, "{strategy:?}");
    }
    // Kernels and orders of summation round differently: a study of one result against itself would find no difference.
    assert!(study.strategies.iter().any(|strategy| strategy.step == "fill" && strategy.difference > Some(0.0)));
    let table = study.table();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.lines().last().unwrap().starts_with("PASS: "), "{table}");
}

/// What the study would not compute is refused, not passed over.
#[test]
fn another_problem_element_or_algorithm_is_refused() {
    let refused = |change: fn(&mut Deck)| {
        let mut deck = deck([5, 5, 5]);
        change(&mut deck);
        strategies_on(&Serial, &deck, 1, &Solo, &silent).unwrap_err().to_string()
    };
    for (change, part) in [
        ((|deck| deck.problem.kind = ProblemKind::Poisson) as fn(&mut Deck), "this is poisson on hex8"),
        (|deck| deck.mesh.element = ElementType::Tet4, "this is heat on tet4"),
        (|deck| deck.graph.scan = Scan::Serial, "no sections but [mesh] and [run]"),
    ] {
        let message = refused(change);
        assert!(message.starts_with("strategies: expected heat on hex8") && message.contains(part), "{message}");
    }
}

#[test]
fn ranks_agree_on_the_study() {
    for ranks in [2, 3] {
        let of_rank =
            on_ranks_that_add(1, ranks, |comm| strategies_on(&Serial, &deck([12, 8, 9]), 2, comm, &silent).unwrap());
        assert!(of_rank[0].verified, "{}", of_rank[0].table());
        assert!(of_rank.iter().all(|study| *study == of_rank[0]), "ranks report different numbers");
    }
}

/// What `work` says of the study on each of 3 ranks, where `free` bytes are left to rank 1 and enough to the others.
fn on_three<T: Send>(free: u64, work: impl Fn(&Study<'_, Threads>) -> T + Sync) -> Vec<T> {
    on_ranks(3, |comm| {
        let part = share(&deck([7, 5, 9]), comm).unwrap();
        let (sizes, nodes) = (Sizes::of_box(&part), part.spec().node_count());
        let mesh = made(&Serial, comm, ElementType::Hex8, part).unwrap();
        let papers = choices::<Threads>(&Deck::default().resolved(), 1, &sizes);
        let free = if comm.rank() == 1 { free } else { 1 << 40 };
        work(&Study { space: &Serial, comm, mesh: &mesh, sizes, free, papers, rounds: 2, nodes })
    })
}

#[test]
fn what_one_rank_cannot_hold_is_refused_on_all() {
    let peak = |study: &Study<'_, Threads>| {
        let choices = Choices { graph: crate::graph::Strategy::Sort, ..study.papers };
        Forecast::of::<Threads>(&study.sizes, &choices).peak()
    };
    let peaks = on_three(1 << 40, peak);
    // A run fits, and the results that are compared do not.
    let refused = on_three(peaks[1], |study| study.fits());
    assert!(matches!(refused[1], Err(Error::OutOfMemory { .. })), "{refused:?}");
    assert!([0, 2].iter().all(|&rank| matches!(refused[rank], Err(Error::Elsewhere { rank: 1 }))), "{refused:?}");
}

/// A strategy that `prepare` makes and whose result is the number of its calls times what `number` says of the rank.
fn counted(
    study: &Study<'_, Threads>,
    prepare: impl FnOnce() -> crate::Result<usize>,
    number: impl Fn(usize) -> f64,
) -> crate::Result<Compared> {
    let of_rank = number(study.comm.rank());
    let work = |calls: &mut usize| {
        *calls += 1;
        Ok(())
    };
    let numbers = |calls: &mut usize, (): &()| Ok(vec![vec![1.0 + *calls as f64 * of_rank]]);
    let reference = (&mut None, largest_difference as fn(&Numbers, &Numbers) -> f64);
    study.measured(Compared::default(), &study.papers, reference, prepare, work, numbers)
}

#[test]
fn bits_that_change_on_one_rank_are_not_repeatable() {
    for (number, is_repeatable) in [(0.0, true), (1.0, false)] {
        let found = on_three(1 << 40, |study| counted(study, || Ok(0), |rank| if rank == 1 { number } else { 0.0 }));
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert!(found.iter().all(|compared| compared.is_repeatable == Some(is_repeatable)), "{found:?}");
        assert!(found.iter().all(|compared| compared.seconds == found[0].seconds && compared.seconds.len() == 2));
        let us = 1e6 * found[0].median_seconds.unwrap() / (7.0 * 5.0 * 9.0);
        assert!(found.iter().all(|compared| compared.us_per_node == Some(us)), "{found:?}");
    }
}

#[test]
fn what_one_rank_refuses_no_rank_measures() {
    let found = on_three(1 << 40, |study| {
        let is_refused = study.comm.rank() == 1;
        counted(study, || if is_refused { Err(Error::Invalid("not here".into())) } else { Ok(0) }, |_| 0.0)
    });
    assert!(
        found.iter().all(|compared| compared.as_ref().is_ok_and(|compared| compared.seconds.is_empty())),
        "{found:?}"
    );
    // Any other failure ends the study.
    let failed = on_three(1 << 40, |study| {
        let fails = study.comm.rank() == 2;
        counted(study, || if fails { Err(Error::Device("lost".into())) } else { Ok(0) }, |_| 0.0)
    });
    assert!(matches!(failed[..], [Err(Error::Elsewhere { rank: 2 }), Err(_), Err(Error::Device(_))]), "{failed:?}");
}

#[test]
fn a_wrong_result_and_a_broken_promise_fail() {
    let study = strategies_on(&Serial, &deck([5, 5, 5]), 1, &Solo, &silent).unwrap();
    let good = |change: fn(&mut Compared)| {
        let mut changed = study.strategies.iter().find(|strategy| strategy.name == "gather, fused").unwrap().clone();
        change(&mut changed);
        changed.is_good()
    };
    assert!(good(|_| {}));
    assert!(
        !good(|strategy| strategy.difference = Some(1e-11)) && !good(|strategy| strategy.difference = Some(f64::NAN))
    );
    assert!(!good(|strategy| strategy.is_repeatable = Some(false)));
    assert!(good(|strategy| (strategy.is_repeatable, strategy.promise) = (Some(false), Promise::AnyOrder)));
    assert!(!good(|strategy| (strategy.difference, strategy.promise) = (Some(0.1), Promise::AnyOrder)));
    assert!(good(|strategy| (strategy.difference, strategy.promise) = (Some(0.1), Promise::Nothing)));
    // Without atomics a wrong result is marked, whatever this machine found.
    let marks = |difference| {
        let mut study = study.clone();
        let racy = study.strategies.iter_mut().find(|strategy| strategy.name == "unsafe, fused").unwrap();
        racy.difference = Some(difference);
        let table = study.table();
        assert!(table.contains("\nPASS: "), "{table}");
        table.lines().filter(|line| line.starts_with("unsafe, fused") && line.ends_with("wrong result")).count()
    };
    assert_eq!([0.0, 1e-11, f64::NAN].map(marks), [0, 1, 1]);
    // One graph entry, one value in a thousand.
    let (found, expected) = (vec![1.0, 2.0 + 1e-9, 4.0], vec![1.0, 2.0, 4.0]);
    assert!((difference(&found, &expected) - 0.25e-9).abs() < 1e-16);
    assert!(difference(&[f64::NAN], &[1.0]).is_nan() && difference(&[], &[1.0]) == f64::INFINITY);
    let bits = |number: f64| fingerprint(&vec![vec![number]]);
    assert!(bits(0.5) == bits(0.5) && bits(0.0) != bits(-0.0));
}

/// Twice as fast is a ratio of 2; what a device does not offer has none.
#[test]
fn ratios_are_those_of_the_papers_time_to_the_own() {
    let compared =
        |seconds: Option<f64>, is_papers| Compared { median_seconds: seconds, is_papers, ..Compared::default() };
    let all =
        vec![compared(Some(3.0), false), compared(Some(6.0), true), compared(None, false), compared(Some(24.0), false)];
    let found: Vec<_> = Compared::with_ratios(all).into_iter().map(|strategy| strategy.speedup).collect();
    assert_eq!(found, [Some(2.0), Some(1.0), None, Some(0.25)]);
}

#[test]
fn the_memory_of_a_strategy_is_that_of_all_ranks() {
    let found = on_three(1 << 40, |study| {
        let own = Forecast::of::<Threads>(&study.sizes, &study.papers).peak();
        (own, study.run_bytes(&study.papers), counted(study, || Ok(0), |_| 0.0).unwrap().run_bytes)
    });
    let sum: u64 = found.iter().map(|(own, ..)| own).sum();
    assert!(found[0].0 != found[1].0 && found.iter().all(|(_, all, shown)| (*all, *shown) == (sum, sum)), "{found:?}");
}

/// A call takes its part of a round: all calls together are no longer than the study.
#[test]
fn seconds_are_those_of_a_call() {
    let mut deck = deck([5, 5, 5]);
    deck.mesh.map = CoordinateMap::None;
    let part = share(&deck, &Solo).unwrap();
    let (sizes, nodes) = (Sizes::of_box(&part), part.spec().node_count());
    let mesh = made(&Serial, &Solo, ElementType::Hex8, part).unwrap();
    let papers = choices::<Threads>(&Deck::default().resolved(), 1, &sizes);
    let study = Study { space: &Serial, comm: &Solo, mesh: &mesh, sizes, free: 1 << 40, papers, rounds: 20, nodes };
    let (start, mut calls) = (std::time::Instant::now(), 0);
    let work = |(): &mut ()| {
        calls += 1;
        let begin = std::time::Instant::now();
        while begin.elapsed().as_micros() < 3 {}
        Ok(())
    };
    let compare = (&mut None, largest_difference as fn(&Numbers, &Numbers) -> f64);
    let compared =
        study.measured(Compared::default(), &papers, compare, || Ok(()), work, |(), ()| Ok(vec![vec![1.0]])).unwrap();
    let elapsed = start.elapsed().as_secs_f64();
    // The first call, one round of one call, then 20 rounds.
    let each = (calls - 2) as f64 / 20.0;
    let sum: f64 = compared.seconds.iter().sum();
    assert!(each.fract() == 0.0 && sum * each <= elapsed && sum * each >= 20.0 * each * 3e-6, "{each}: {compared:?}");
}

#[test]
fn the_largest_difference_of_all_arrays_counts() {
    let of = |found: [f64; 3]| largest_difference(&found.map(|x| vec![x]).to_vec(), &vec![vec![2.0]; 3]);
    assert_eq!([of([2.5, 2.25, 2.0]), of([2.0, 2.25, 2.5])], [0.25; 2]);
    assert!([[f64::NAN, 2.0, 3.0], [3.0, f64::NAN, 2.0]].into_iter().all(|found| of(found).is_nan()));
}

/// The largest difference of all ranks counts, and a result that is no number on one of them differs infinitely.
#[test]
fn differences_are_those_of_the_worst_rank() {
    for (number, expected) in [(0.25, 0.25), (f64::NAN, f64::INFINITY)] {
        let found = on_three(1 << 40, |study| {
            let of_rank = [1.0, 1.125, 1.0 + number][study.comm.rank()];
            let mut reference = Some(vec![vec![1.0]]);
            let compare = (&mut reference, largest_difference as fn(&Numbers, &Numbers) -> f64);
            let numbers = |(): &mut (), (): &()| Ok(vec![vec![of_rank]]);
            study.measured(Compared::default(), &study.papers, compare, || Ok(()), |()| Ok(()), numbers).unwrap()
        });
        assert!(found.iter().all(|compared| compared.difference == Some(expected)), "{found:?}");
        assert!(found.iter().all(|compared| !compared.is_right()));
    }
}

/// Milliseconds, MiB over all ranks, and differences: whole numbers of graphs, relative ones of values.
#[test]
fn the_table_has_the_numbers_of_a_strategy_in_its_units() {
    let mut study = strategies_on(&Serial, &deck([5, 5, 5]), 1, &Solo, &silent).unwrap();
    for (step, promise) in [("graph", Promise::Identical), ("fill", Promise::SameBits), ("product", Promise::AnyOrder)]
    {
        let made_up = Compared {
            step,
            name: "made-up".into(),
            is_papers: true,
            median_seconds: Some(1.25e-3),
            speedup: Some(0.375),
            run_bytes: 5 << 19,
            difference: Some(2.0),
            tolerance: 3.0,
            promise,
            is_repeatable: Some(true),
            ..Compared::default()
        };
        study.strategies.push(made_up);
    }
    let table = study.table();
    let found: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("made-up"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let start = ["made-up", "(papers)", "1.250", "0.38", "2.5"];
    let expected = [["2", "integers"].as_slice(), &["2.0e0", "fixed"], &["2.0e0", "any", "order"]];
    assert_eq!(found, expected.map(|end| [&start[..], end].concat()));
}
