//! Whole runs with symmetric Gauss-Seidel and IC(0), on ranks, threads, elements and problems.

use crate::comm::Solo;
use crate::comm::ranks::on_ranks;
use crate::element::ElementType;
use crate::run::deck::{Choice, Forcing, Nodes, Preconditioning, Preset, ProblemKind};
use crate::run::{Deck, Device, dry_run, silent, solve, solve_on};
use crate::space::{Serial, Threads};
use crate::sparse::Format;

const SWEEPS: [Preconditioning; 2] = [Preconditioning::GaussSeidel, Preconditioning::Cholesky];

fn deck(kind: ProblemKind, element: ElementType, nodes: [u64; 3]) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device, deck.problem.kind) = (Nodes::new(nodes).ok(), Device::Cpu, kind);
    (deck.mesh.element, deck.mesh.map) = (element, "twist:0.2".parse().unwrap());
    (deck.run.preset, deck.run.threads, deck.newton.forcing) = (Preset::Fast, Some(2), Choice::Given(Forcing::Fixed));
    deck
}

#[test]
fn sweeps_need_far_fewer_iterations_than_jacobi() {
    for kind in [ProblemKind::Heat, ProblemKind::Elasticity] {
        let mut deck = deck(kind, ElementType::Hex8, [33; 3]);
        let mut iterations = |preconditioning| {
            deck.cg.preconditioner = Choice::Given(preconditioning);
            let report = solve(&deck, &Solo, &silent).unwrap();
            assert!(report.verified, "{kind}, {preconditioning}: {:?}", report.verdict);
            assert!(report.levels.len() == 1 && report.levels[0].seconds > 0.0, "{:?}", report.levels);
            report.cg_iterations
        };
        let jacobi = iterations(Preconditioning::Jacobi);
        for (preconditioning, share) in SWEEPS.into_iter().zip([0.65, 0.55]) {
            let found = iterations(preconditioning);
            assert!((found as f64) < share * jacobi as f64, "{kind}, {preconditioning}: {found} of {jacobi}");
        }
    }
}

/// Entries between ranks are left out, so that iterations grow with the ranks.
#[test]
fn ranks_keep_sweeps_better_than_jacobi() {
    for kind in [ProblemKind::Heat, ProblemKind::Elasticity] {
        let mut deck = deck(kind, ElementType::Hex8, [15, 19, 17]);
        let mut iterations = |preconditioning, ranks| {
            deck.cg.preconditioner = Choice::Given(preconditioning);
            let report = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap()).swap_remove(0);
            assert!(report.verified, "{kind}, {preconditioning}, {ranks} ranks: {:?}", report.verdict);
            report.cg_iterations
        };
        let jacobi = iterations(Preconditioning::Jacobi, 1);
        for preconditioning in SWEEPS {
            for ranks in 1..=4 {
                let found = iterations(preconditioning, ranks);
                assert!(found < jacobi, "{kind}, {preconditioning}, {ranks} ranks: {found} of {jacobi}");
            }
        }
    }
}

#[test]
fn threads_change_no_bit_and_formats_no_iteration() {
    for preconditioning in SWEEPS {
        let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [19, 23, 17]);
        deck.cg.preconditioner = Choice::Given(preconditioning);
        let of = |threads, deck: &Deck| solve_on(&Threads::new(threads).unwrap(), deck, &Solo, &silent).unwrap();
        let one = of(1, &deck);
        assert!(one.verified);
        assert_eq!(of(3, &deck).history, one.history, "{preconditioning}");
        for format in ["crs", "pattern", "symmetric"] {
            deck.matrix.format = format.parse().unwrap();
            let found = of(2, &deck);
            assert!(found.cg_iterations.abs_diff(one.cg_iterations) <= 3, "{preconditioning}, {format}");
        }
    }
}

#[test]
fn every_element_and_problem_converges() {
    for preconditioning in SWEEPS {
        for (element, name) in ElementType::volumes() {
            let mut deck = deck(ProblemKind::Poisson, element, [13, 17, 9]);
            deck.mesh.map = "twist:0.1".parse().unwrap();
            deck.cg.preconditioner = Choice::Given(preconditioning);
            let report = solve(&deck, &Solo, &silent).unwrap();
            assert!(report.verified, "poisson on {name}, {preconditioning}: {:?}", report.verdict);
        }
        for (kind, element) in [
            (ProblemKind::Diffusion, ElementType::Hex8),
            (ProblemKind::Elasticity, ElementType::Tet10),
            (ProblemKind::Elasticity, ElementType::Hex20),
        ] {
            let mut deck = deck(kind, element, [9, 7, 11]);
            deck.cg.preconditioner = Choice::Given(preconditioning);
            let report = solve(&deck, &Solo, &silent).unwrap();
            assert!(report.verified, "{kind} on {element}, {preconditioning}: {:?}", report.verdict);
        }
    }
}

/// (D + L) D^-1 (D + U) approximates a matrix that is not symmetric, too; factors of IC(0) do not.
#[test]
fn advection_takes_gauss_seidel() {
    let mut deck = deck(ProblemKind::Poisson, ElementType::Hex8, [17; 3]);
    deck.problem.advection = [10.0, -5.0, 3.0];
    let plain = solve(&deck, &Solo, &silent).unwrap();
    deck.cg.preconditioner = Choice::Given(Preconditioning::GaussSeidel);
    let report = solve(&deck, &Solo, &silent).unwrap();
    let counts = [&report, &plain].map(|report| report.cg_iterations);
    assert!(report.verified && 2 * counts[0] < counts[1], "{counts:?}");
    deck.cg.preconditioner = Choice::Given(Preconditioning::Cholesky);
    let refused = deck.check().unwrap_err().to_string();
    assert!(refused.contains("--preconditioner): ic0: needs a symmetric matrix"), "{refused}");
}

/// Newton's first step passes temperatures below 0, where the Jacobian is not positive definite: all ranks find the same.
#[test]
fn a_jacobian_without_factors_is_a_verdict_on_all_ranks() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [5, 5, 9]);
    (deck.mesh.map, deck.problem.t_max) = ("none".parse().unwrap(), 300.0);
    deck.cg.preconditioner = Choice::Given(Preconditioning::Cholesky);
    for ranks in [1, 3] {
        let reports = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
        for report in &reports {
            assert!(!report.verified && report.verdict == reports[0].verdict, "{:?}", report.verdict);
            assert!(report.verdict[0].contains("(IC(0): the pivot of row "), "{:?}", report.verdict);
        }
    }
}

/// 16 bytes per entry off the diagonal and 40 per row, and 24 per row meanwhile.
#[test]
fn memory_of_triangles_is_forecast() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [41; 3]);
    // In another format the triangles also need the values in CRS.
    deck.matrix.format = Choice::Given(Format::Crs);
    let mut peak = |preconditioning| {
        deck.cg.preconditioner = Choice::Given(preconditioning);
        dry_run(&deck, &Solo, &silent).unwrap().largest.forecast.peak()
    };
    let (rows, entries) = (41u64.pow(3), 121u64.pow(3));
    let of_jacobi = peak(Preconditioning::Jacobi) - peak(Preconditioning::None);
    let more = peak(Preconditioning::Cholesky) - peak(Preconditioning::None);
    assert_eq!((more, of_jacobi), (16 * (entries - rows) + 64 * rows, 40 * rows));
}
