//! Relative numbers do not depend on units: with temperatures 256 times as large, or lengths 4 times as large, every factor is a power of two,
//! so that not a bit changes. Nor do they depend on the number of ranks, but for rounding.

use super::{HEAT, Run, deck, solved};
use minifenl::element::ElementType;
use minifenl::run::Report;
use minifenl::run::deck::ProblemKind;

/// The numbers that are relative to the solution.
fn relative(report: &Report) -> [f64; 5] {
    [report.error_max, report.error_l2, report.error_bound, report.algebraic_error, report.symmetry]
}

#[test]
fn relative_numbers_have_no_units_and_no_ranks() {
    for (run, scales) in [
        (HEAT, true),
        (Run { element: ElementType::Hex20, points: [5, 7, 9], ..HEAT }, true),
        (Run { element: ElementType::Wedge6, points: [5, 7, 9], ..HEAT }, true),
        (Run { problem: ProblemKind::Diffusion, points: [9, 10, 8], ..HEAT }, false),
        (Run { problem: ProblemKind::Elasticity, points: [9, 10, 8], ..HEAT }, false),
    ] {
        let first = relative(&solved(&run, &deck(&run)).0);
        if scales {
            let mut hot = deck(&run);
            (hot.problem.t_min, hot.problem.t_max) = (256.0 * hot.problem.t_min, 256.0 * hot.problem.t_max);
            let mut large = deck(&run);
            large.mesh.size = large.mesh.size.map(|edge| 4.0 * edge);
            for other in [hot, large] {
                let found = relative(&solved(&run, &other).0);
                for (found, first) in found.iter().zip(&first).take(4) {
                    assert!((found / first - 1.0).abs() < 1e-6, "{run:?}: {found:?} {first:?}");
                }
            }
        }
        for ranks in [2, 3] {
            let found = relative(&solved(&Run { ranks, ..run }, &deck(&run)).0);
            for (found, first) in found.iter().zip(&first).take(3) {
                assert!((found / first - 1.0).abs() < 1e-6, "{ranks} ranks, {run:?}: {found:?} {first:?}");
            }
            assert!(found[4] < 1e-14);
        }
    }
}

/// On a mapped box every rank has another spacing and other elements.
#[test]
fn numbers_of_a_mapped_box_are_those_of_all_ranks() {
    let run = |ranks| {
        let run = Run { ranks, ..HEAT };
        let mut deck = deck(&run);
        deck.mesh.map = "bubble:0.4".parse().unwrap();
        solved(&run, &deck).0
    };
    let first = run(1);
    for ranks in [2, 4] {
        let found = run(ranks);
        assert_eq!(found.mesh.spacing, first.mesh.spacing, "{ranks} ranks");
        for (found, first) in relative(&found).iter().zip(relative(&first)).take(3) {
            assert!((found / first - 1.0).abs() < 1e-6, "{ranks} ranks: {found} {first}");
        }
    }
}

/// Ties are split along z: the middle rank alone has free nodes.
#[test]
fn a_rank_without_a_free_node_has_the_verdict_of_all() {
    let run = Run { points: [3; 3], ranks: 3, ..HEAT };
    let report = solved(&run, &deck(&run)).0;
    assert_eq!((report.partition.owned_min, report.partition.owned_max), (9, 9));
}

/// The nodes nearest to the centre are one node of one rank, or eight of several.
#[test]
fn the_brick_is_judged_by_the_nodes_nearest_to_the_centre_of_all_ranks() {
    for points in [9, 10] {
        let of_ranks = |ranks| {
            let run = Run { problem: ProblemKind::Minife, points: [points; 3], ranks, ..HEAT };
            let mut deck = deck(&run);
            (deck.mesh.size, deck.cg.iterations) = ([1.0; 3], Some(40));
            relative(&solved(&run, &deck).0)
        };
        let first = of_ranks(1);
        // The square of the extent of an element.
        assert!((first[2] * (points - 1).pow(2) as f64 - 1.0).abs() < 1e-12, "{first:?}");
        // One node has the largest error and all squares: relative to 1 and to the known value there.
        let centre = 1.0 / 6.0 + 0.056_212_8;
        assert!(points == 10 || (first[0] / first[1] / centre - 1.0).abs() < 1e-5, "{first:?}");
        for ranks in [2, 3, 8] {
            for (found, first) in of_ranks(ranks).iter().zip(&first).take(3) {
                assert!((found / first - 1.0).abs() < 1e-6, "{points} points, {ranks} ranks: {found} {first}");
            }
        }
    }
}

/// The bound is that of the longest edge of an element, along whichever axis it lies.
#[test]
fn the_bound_of_the_brick_takes_the_longest_edge() {
    for points in [[9, 11, 13], [13, 9, 11], [11, 13, 9]] {
        let run = Run { problem: ProblemKind::Minife, points, ranks: 2, ..HEAT };
        let mut deck = deck(&run);
        (deck.mesh.size, deck.cg.iterations) = ([1.0; 3], Some(60));
        let report = solved(&run, &deck).0;
        assert!((64.0 * report.error_bound - 1.0).abs() < 1e-12, "{points:?}: {}", report.error_bound);
        assert!((report.mesh.spacing * (points[2] - 1) as f64 - 1.0).abs() < 1e-12, "{points:?}: {:?}", report.mesh);
    }
}
