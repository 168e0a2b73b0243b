//! Solves that are stopped or preconditioned, and the field that they leave.

use super::{HEAT, Run, deck, phase, solved};
use crate::thread_ranks::on_ranks;
use minifenl::run::deck::{Choice, Preconditioning};
use minifenl::run::{silent, solution_on, solve_on};
use minifenl::solve::CgVariant;
use minifenl::space::Threads;
use minifenl::sparse::Format;
use std::collections::BTreeMap;

/// A solve that CG's limit stops is counted, and is the last line.
#[test]
fn a_solve_that_is_stopped_has_its_numbers_in_the_report() {
    for ranks in [1, 2] {
        let run = Run { ranks, ..HEAT };
        let mut deck = deck(&run);
        deck.cg.max_iterations = 5;
        let reports = on_ranks(ranks, |comm| solve_on(&Threads::new(2).unwrap(), &deck, comm, &silent).unwrap());
        let report = &reports[0];
        let line = &report.history[0];
        assert!(!report.verified && report.stopped.is_some() && report.history.len() == 1, "{report:?}");
        assert_eq!((report.newton_iterations, report.cg_iterations, line.cg_iterations), (0, 5, 5));
        assert!(line.cg_residual > 0.0 && (line.true_residual / line.cg_residual - 1.0).abs() < 1e-6, "{line:?}");
        assert_eq!((report.cg_reductions, phase(report, "cg").calls), (line.cg_reductions, 5));
    }
}

/// With a preconditioner u, not r, has room for the ghosts of a product.
#[test]
fn single_reductions_with_a_preconditioner_take_the_iterations_of_classic_cg() {
    let iterations = |variant, ranks| {
        let run = Run { ranks, variant, ..HEAT };
        let mut deck = deck(&run);
        deck.cg.preconditioner = Choice::Given(Preconditioning::Jacobi);
        solved(&run, &deck).0.cg_iterations
    };
    for ranks in [1, 3] {
        let [classic, single] = [CgVariant::Classic, CgVariant::SingleReduction].map(|of| iterations(of, ranks));
        assert!(classic.abs_diff(single) <= 3, "{ranks} ranks: {classic} and {single}");
    }
}

/// An assembly into symmetric halves zeroes, reads and writes the diagonal and one of each two values beside it: 24 bytes less for the other.
#[test]
fn an_assembly_into_halves_moves_half_of_the_values() {
    let filled = |format| {
        let mut deck = deck(&HEAT);
        deck.matrix.format = Choice::Given(format);
        let (report, _) = solved(&HEAT, &deck);
        let fill = phase(&report, "fill");
        fill.bytes / fill.calls as f64
    };
    let neighbours = |axis: usize| 3 * HEAT.points[axis] - 2;
    let entries: u64 = (0..3).map(neighbours).product();
    let upper = (entries - HEAT.points.iter().product::<u64>()) / 2;
    let saved = filled(Format::Crs) - filled(Format::Symmetric);
    // Halves have zeros at the border of the box, too.
    assert!(
        saved <= 24.0 * upper as f64 && saved >= 12.0 * upper as f64,
        "{saved}: {upper} entries above the diagonal"
    );
}

/// Of the last iterate, not of the one before.
#[test]
fn ghosts_of_the_field_have_the_values_of_their_owners() {
    let mut deck = deck(&HEAT);
    deck.newton.max_iterations = 1;
    let of_rank = on_ranks(3, |comm| {
        let solution = solution_on(&Threads::new(1).unwrap(), &deck, comm, &silent).unwrap();
        let (mesh, owned) = (&solution.mesh, solution.mesh.map.owned_count());
        let value = |(node, value): (usize, &f64)| (mesh.global_node(node as u32), node < owned, value.to_bits());
        solution.field.iter().enumerate().map(value).collect::<Vec<_>>()
    });
    let is_owned = |value: &&(u64, bool, u64)| value.1;
    let owners: BTreeMap<u64, u64> =
        of_rank.iter().flatten().filter(is_owned).map(|&(node, _, value)| (node, value)).collect();
    assert!(of_rank.iter().all(|values| values.iter().any(|value| !value.1)));
    assert!(of_rank.iter().flatten().all(|(node, _, value)| owners[node] == *value));
}
