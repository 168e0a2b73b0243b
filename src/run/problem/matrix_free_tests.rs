//! Whole runs without a matrix against those with one.

use crate::comm::Solo;
use crate::comm::ranks::on_ranks;
use crate::element::ElementType;
use crate::fill::Strategy;
use crate::run::deck::{Choice, Nodes, Operator, ProblemKind};
use crate::run::{Deck, Device, Report, dry_run, silent, solve, solve_on};
use crate::solve::CgVariant;
use crate::space::{Serial, Threads};

fn deck(kind: ProblemKind, element: ElementType, nodes: [u64; 3]) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device, deck.problem.kind) = (Nodes::new(nodes).ok(), Device::Cpu, kind);
    (deck.mesh.element, deck.mesh.map) = (element, "twist:0.2".parse().unwrap());
    deck.run.threads = Some(2);
    deck
}

fn matrix_free(deck: &Deck) -> Deck {
    let mut deck = deck.clone();
    deck.cg.operator = Operator::MatrixFree;
    deck
}

/// Verified, with as many iterations up to one per solve, and the same errors.
fn check(what: &str, found: &Report, expected: &Report) {
    assert!(found.verified && expected.verified, "{what}: {:?} {:?}", found.verdict, expected.verdict);
    assert_eq!(found.newton_iterations, expected.newton_iterations, "{what}");
    let counts = [found.cg_iterations, expected.cg_iterations];
    assert!(counts[0].abs_diff(counts[1]) <= found.newton_iterations, "{what}: iterations {counts:?}");
    for (found, expected) in [(found.error_max, expected.error_max), (found.error_l2, expected.error_l2)] {
        assert!((found / expected - 1.0).abs() < 1e-5, "{what}: errors {found:e} {expected:e}");
    }
}

#[test]
fn runs_converge_as_those_with_a_matrix_and_report_their_operator() {
    for (kind, element) in [
        (ProblemKind::Heat, ElementType::Hex8),
        (ProblemKind::Heat, ElementType::Hex20),
        (ProblemKind::Poisson, ElementType::Hex27),
        (ProblemKind::Diffusion, ElementType::Tet10),
        (ProblemKind::Elasticity, ElementType::Hex8),
        (ProblemKind::Elasticity, ElementType::Wedge6),
    ] {
        let deck = deck(kind, element, [11, 13, 9]);
        let (expected, found) =
            (solve(&deck, &Solo, &silent).unwrap(), solve(&matrix_free(&deck), &Solo, &silent).unwrap());
        let what = format!("{kind} on {element}");
        check(&what, &found, &expected);
        let strategies = &found.strategies;
        assert_eq!((strategies.operator, strategies.format), (Operator::MatrixFree, None), "{what}");
        let phase = |report: &Report, name: &str| report.phases.iter().find(|phase| phase.name == name).cloned();
        for absent in ["graph", "boundary", "spmv", "format"] {
            assert!(phase(&found, absent).is_none(), "{what}: phase {absent}");
        }
        let apply = phase(&found, "apply").unwrap();
        assert!(apply.flops > 0.0 && apply.bytes > 0.0, "{what}: {apply:?}");
        // CG applies J once before the iterations of a solve.
        assert_eq!(apply.calls, (found.cg_iterations + found.newton_iterations) as u64, "{what}");
        assert!(phase(&expected, "graph").is_some() && phase(&expected, "spmv").is_some());
        assert!(found.table().contains("operator matrix-free"), "{}", found.table());
    }
}

#[test]
fn variants_of_cg_run_without_a_matrix() {
    let deck = deck(ProblemKind::Heat, ElementType::Hex8, [9, 11, 7]);
    let expected = solve(&deck, &Solo, &silent).unwrap();
    for (variant, name) in CgVariant::ALL {
        let mut deck = matrix_free(&deck);
        deck.cg.variant = Choice::Given(variant);
        check(name, &solve(&deck, &Solo, &silent).unwrap(), &expected);
    }
}

#[test]
fn threads_and_ranks_do_not_change_the_answer() {
    for (kind, element) in [(ProblemKind::Heat, ElementType::Hex8), (ProblemKind::Elasticity, ElementType::Hex27)] {
        let mut deck = matrix_free(&deck(kind, element, [9, 11, 7]));
        for strategy in [Strategy::Gather, Strategy::Colour] {
            deck.fill.strategy = Choice::Given(strategy);
            let run = |space: &Threads| solve_on(space, &deck, &Solo, &silent).unwrap();
            let [one, three] = [1, 3].map(|threads| run(&Threads::new(threads).unwrap()));
            assert_eq!(one.history, three.history, "{kind} on {element}, {strategy}");
            // Elements of other types need messages, which ranks on threads do not have: tests/program/problems.rs runs them.
            for ranks in [2, 5].into_iter().filter(|_| element == ElementType::Hex8) {
                let of_ranks = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
                check(&format!("{kind} on {element}, {strategy}, {ranks} ranks"), &of_ranks[0], &one);
            }
        }
    }
}

#[test]
fn a_forecast_counts_no_matrix() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [33; 3]);
    for (strategy, name) in Strategy::ALL {
        deck.fill.strategy = Choice::Given(strategy);
        let [with, without] = [&deck, &matrix_free(&deck)].map(|deck| dry_run(deck, &Solo, &silent).unwrap());
        let (nnz, bytes) = (with.own.sizes.nnz, [&with, &without].map(|dry| dry.own.forecast.peak()));
        assert!(bytes[0] > bytes[1] + 12 * nnz, "{name}: {bytes:?}");
        assert!(without.table().contains(&format!("strategies  operator matrix-free, fill {name}")));
    }
}
