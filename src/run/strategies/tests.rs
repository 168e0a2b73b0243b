//! The study on small meshes: every strategy is there, right, and found out if it is wrong.

use super::study::{difference, median, same_bits};
use super::*;
use crate::comm::Solo;
use crate::comm::ranks::on_ranks_that_add;
use crate::mesh::CoordinateMap;
use crate::run::deck::Nodes;
use crate::run::silent;
use crate::space::{Serial, Threads};

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
    let fills = ["scatter", "seam", "gather", "colour", "unsafe"]
        .map(|fill| ["intrepid", "table", "fused"].map(|kernel| format!("{fill}, {kernel}")));
    let expected: Vec<_> = ["map", "dashmap", "gather", "sort"]
        .map(|name| ("graph", name))
        .into_iter()
        .chain(fills.as_flattened().iter().map(|name| ("fill", name.as_str())))
        .chain(["crs", "pattern", "symmetric"].map(|format| ("product", format)))
        .collect();
    assert_eq!(names, expected);
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

#[test]
fn ranks_agree_on_the_study() {
    for ranks in [2, 3] {
        let of_rank =
            on_ranks_that_add(1, ranks, |comm| strategies_on(&Serial, &deck([12, 8, 9]), 2, comm, &silent).unwrap());
        assert!(of_rank[0].verified, "{}", of_rank[0].table());
        assert!(of_rank.iter().all(|study| *study == of_rank[0]), "ranks report different numbers");
    }
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
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!((median(&[4.0, 1.0, 2.0, 3.0]), median(&[])), (Some(2.5), None));
    let (found, expected) = (vec![1.0, 2.0 + 1e-9, 4.0], vec![1.0, 2.0, 4.0]);
    assert!((difference(&found, &expected) - 0.25e-9).abs() < 1e-16);
    assert!(difference(&[f64::NAN], &[1.0]).is_nan() && difference(&[], &[1.0]) == f64::INFINITY);
    assert!(same_bits(&[0.5], &[0.5]) && !same_bits(&[0.0], &[-0.0]));
}
