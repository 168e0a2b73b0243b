//! Whole runs without a matrix against those with one.

use super::ProblemInput;
use super::discrete::Discrete;
use super::linear::System;
use crate::comm::ranks::on_ranks;
use crate::comm::{Communicator, Links, Solo};
use crate::element::ElementType;
use crate::fill::{Assemble, Strategy};
use crate::run::deck::{Choice, Forcing, Nodes, Operator, Preconditioning, Preset, ProblemKind};
use crate::run::meshes::made;
use crate::run::steps::share;
use crate::run::{Deck, Device, Phases, Report, dry_run, silent, solve, solve_on};
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
        let of_matrix = (strategies.graph, strategies.scan, strategies.kernel, strategies.matrix_values);
        assert_eq!(of_matrix, (None, None, None, None), "{what}");
        let phase = |report: &Report, name: &str| report.phases.iter().find(|phase| phase.name == name).cloned();
        for absent in ["graph", "boundary", "spmv", "format"] {
            assert!(phase(&found, absent).is_none(), "{what}: phase {absent}");
        }
        let apply = phase(&found, "apply").unwrap();
        assert!(apply.flops > 0.0 && apply.bytes > 0.0, "{what}: {apply:?}");
        // CG applies J once before the iterations of a solve.
        assert_eq!(apply.calls, (found.cg_iterations + found.newton_iterations) as u64, "{what}");
        assert!(phase(&expected, "graph").is_some() && phase(&expected, "spmv").is_some());
        let line = "\nstrategies  operator matrix-free, fill colour, CG classic\n";
        assert!(found.table().contains(line), "{}", found.table());
        let (names, row) = (Report::csv_header(), found.csv_row());
        let empty = names.split(',').zip(row.split(',')).filter(|(_, value)| value.is_empty());
        let empty: Vec<&str> = empty.map(|(name, _)| name).collect();
        assert!(["graph", "scan", "kernel", "format", "matrix"].iter().all(|name| empty.contains(name)), "{row}");
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

/// Without a matrix the diagonal is that of the assembled one, but 1 at fixed unknowns; fixed items are cleared whatever they are. On one
/// rank, and on three whose parts have one to three layers of nodes.
#[test]
fn the_probed_diagonal_is_that_of_the_matrix() {
    for ranks in [1, 3] {
        on_ranks(ranks, |comm| probed_diagonals_are_those_of_matrices(comm));
    }
}

fn probed_diagonals_are_those_of_matrices(comm: &dyn Communicator) {
    for (kind, element) in [
        (ProblemKind::Heat, ElementType::Hex8),
        (ProblemKind::Heat, ElementType::Tet10),
        (ProblemKind::Poisson, ElementType::Hex27),
        (ProblemKind::Elasticity, ElementType::Wedge15),
        (ProblemKind::Elasticity, ElementType::Hex8),
    ] {
        let (deck, phases, links) = (deck(kind, element, [7, 9, 5]), Phases::default(), Links::<Threads>::staged(comm));
        let mesh = made(&Serial, comm, element, share(&deck, comm).unwrap()).unwrap();
        let (deck, links, mesh, phases) = (&deck, &links, &mesh, &phases);
        let input = || ProblemInput { deck, links, mesh, coarse: &[], phases, progress: &silent };
        let discrete = || Discrete::new(&Serial, input()).unwrap();
        let nodes = crate::graph::build(&Serial, &mesh.elem_node, mesh.map.owned_count(), Default::default()).unwrap();
        let graph = Serial.dof_graph(nodes, kind.dofs()).unwrap();
        let n = discrete().map().owned_count();
        let mut unknowns = discrete().start().unwrap();
        discrete().scatter_by_id(3, &mut unknowns).unwrap();
        unknowns.iter_mut().for_each(|u| *u = 1.5 + 0.5 * *u);
        let fixed = discrete().fixed().unwrap();
        let inverse_of = |graph| {
            let mut system = System::new(discrete(), graph, &mut Vec::new()).unwrap();
            let mut inverse = vec![f64::NAN; n];
            system.assemble(&unknowns, &mut vec![0.0; n], &mut Vec::new()).unwrap();
            system.inverse_diagonal(&mut inverse).unwrap();
            let mut vector = vec![f64::INFINITY; n];
            system.clear_fixed(&mut vector).unwrap();
            assert!(vector.iter().zip(&fixed).all(|(&item, &is_fixed)| (item == 0.0) == (is_fixed != 0)), "{vector:?}");
            inverse
        };
        let expected = inverse_of(Some(graph));
        let found = inverse_of(None);
        for (at, &is_fixed) in fixed.iter().take(n).enumerate() {
            let expected = if is_fixed == 0 { expected[at] } else { 1.0 };
            let departure = (found[at] / expected - 1.0).abs();
            assert!(departure < 1e-12, "{kind} on {element}, {at}: {} {expected}", found[at]);
        }
    }
}

#[test]
fn preconditioners_need_no_matrix() {
    for (kind, element) in [
        (ProblemKind::Heat, ElementType::Hex8),
        (ProblemKind::Poisson, ElementType::Hex20),
        (ProblemKind::Elasticity, ElementType::Hex8),
        (ProblemKind::Diffusion, ElementType::Tet4),
    ] {
        for preconditioning in [Preconditioning::Jacobi, Preconditioning::Chebyshev, Preconditioning::Multigrid] {
            let mut deck = deck(kind, element, [17, 13, 11]);
            deck.run.preset = Preset::Fast;
            deck.cg.preconditioner = Choice::Given(preconditioning);
            deck.newton.forcing = Choice::Given(Forcing::Fixed);
            let (expected, mut free) = (solve(&deck, &Solo, &silent).unwrap(), matrix_free(&deck));
            let what = format!("{kind} on {element}, {preconditioning}");
            check(&what, &solve(&free, &Solo, &silent).unwrap(), &expected);
            // With nested iteration, whose coarse boxes have matrices.
            free.newton.forcing = Choice::Auto;
            let found = solve(&free, &Solo, &silent).unwrap();
            assert!(found.verified && found.cg_iterations <= expected.cg_iterations, "{what}: {:?}", found.verdict);
            if element == ElementType::Hex8 {
                let of_ranks = on_ranks(3, |comm| solve_on(&Serial, &free, comm, &silent).unwrap());
                let counts = [of_ranks[0].cg_iterations, found.cg_iterations];
                assert!(of_ranks[0].verified && counts[0] <= counts[1] + 4, "{what}: {counts:?}");
            }
        }
    }
    let mut deck = matrix_free(&deck(ProblemKind::Heat, ElementType::Hex8, [9; 3]));
    deck.cg.preconditioner = Choice::Given(Preconditioning::GaussSeidel);
    let refused = deck.check().unwrap_err().to_string();
    assert!(refused.contains("cg.preconditioner (--preconditioner) is gauss-seidel, and no matrix"), "{refused}");
}
