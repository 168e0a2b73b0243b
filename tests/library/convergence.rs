//! The whole job on one rank: second-order convergence on every map, the same answer from every strategy, kernel and
//! number of threads.

#![cfg(feature = "cli")]

use minifenl::comm::Solo;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{Choice, Deck, Nodes};
use minifenl::run::{Report, silent, solve_on};
use minifenl::space::Threads;
use minifenl::{fill, graph};

fn run(threads: usize, nodes: u64, edit: impl Fn(&mut Deck)) -> Report {
    let mut deck = Deck::default();
    deck.mesh.nodes = Some(Nodes::new([nodes, nodes - 1, nodes]).unwrap());
    edit(&mut deck);
    solve_on(&Threads::new(threads).unwrap(), &deck, &Solo, &silent).unwrap()
}

#[test]
fn the_error_falls_by_four_when_the_mesh_is_halved() {
    for map in [CoordinateMap::None, CoordinateMap::BUBBLE, CoordinateMap::TWIST] {
        let edit = |deck: &mut Deck| {
            deck.mesh.map = map;
            (deck.newton.tolerance, deck.cg.tolerance) = (Some(1e-10), Some(1e-10));
        };
        let reports = [9, 17, 33].map(|nodes| run(2, nodes, edit));
        for pair in reports.windows(2) {
            let (max, l2) = (pair[0].error_max / pair[1].error_max, pair[0].error_l2 / pair[1].error_l2);
            assert!((3.4..4.6).contains(&l2), "{map}: L2 error fell by {l2}");
            assert!((3.2..4.8).contains(&max), "{map}: largest error fell by {max}");
        }
        assert!(reports.iter().all(|report| report.verified), "{map}");
    }
}

#[test]
fn every_strategy_and_kernel_gives_the_same_answer() {
    let expected = run(1, 13, |deck| deck.mesh.map = CoordinateMap::TWIST);
    for (graph, _) in graph::Strategy::ALL {
        for (fill, _) in fill::Strategy::ALL {
            for (kernel, _) in fill::Kernel::ALL {
                let report = run(2, 13, |deck| {
                    deck.mesh.map = CoordinateMap::TWIST;
                    deck.graph.strategy = Choice::Given(graph);
                    (deck.fill.strategy, deck.fill.kernel) = (Choice::Given(fill), Choice::Given(kernel));
                });
                assert_eq!(report.newton_iterations, expected.newton_iterations, "{graph} {fill} {kernel}");
                let ratio = report.error_max / expected.error_max;
                assert!((ratio - 1.0).abs() < 1e-5, "{graph} {fill} {kernel}: error differs by {ratio}");
                assert!(report.verified);
            }
        }
    }
}

#[test]
fn gather_and_colour_give_the_same_bits_on_any_number_of_threads() {
    for fill in [fill::Strategy::Gather, fill::Strategy::Colour] {
        let outcome = |threads| {
            let report = run(threads, 24, |deck| deck.fill.strategy = Choice::Given(fill));
            (report.error_max.to_bits(), report.error_l2.to_bits(), report.history)
        };
        let one = outcome(1);
        assert!([2, 3].into_iter().all(|threads| outcome(threads) == one), "{fill}");
    }
}

#[test]
fn a_box_of_other_size_and_temperatures_is_verified() {
    let report = run(2, 17, |deck| {
        deck.mesh.size = [2.0, 0.5, 3.0];
        (deck.problem.t_min, deck.problem.t_max) = (4.0, 0.25);
    });
    assert!(report.verified, "{}", report.table());
}

#[test]
fn two_nodes_along_an_edge_have_nothing_to_solve() {
    let report = run(1, 3, |deck| deck.mesh.nodes = Some(Nodes::new([2, 2, 2]).unwrap()));
    assert!(report.newton_iterations == 0 && report.error_max < 1e-14, "{}", report.table());
}
