//! Levels on ranks: shared, or whole on each.

use super::*;
use crate::mesh::BoxParts;

/// Ranks share large boxes and replicate small ones; the limit counts unknowns, not nodes.
#[test]
fn coarse_boxes_of_many_ranks_are_those_of_one() {
    let mut ended_early = 0;
    for kind in [ProblemKind::Poisson, ProblemKind::Elasticity] {
        let deck = deck(kind, ElementType::Hex8, [129, 65, 33]);
        let spec = deck.spec(deck.mesh.nodes.unwrap()).unwrap();
        let alone = coarse_boxes(&deck, &spec, 1);
        assert!(alone.last().unwrap().spec.node_count() <= 300);
        for ranks in (2..900).step_by(7) {
            let mut is_shared = true;
            for (found, one) in coarse_boxes(&deck, &spec, ranks).iter().zip(&alone) {
                assert_eq!((found.spec, found.element, one.ranks), (one.spec, one.element, 1));
                let has_parts = BoxParts::new(&one.spec, ranks).is_ok();
                is_shared &= has_parts && (kind.dofs() as u64 * one.spec.node_count() > 2048 || ranks > 64);
                assert_eq!(found.ranks, if is_shared { ranks } else { 1 }, "{kind} on {ranks} ranks: {found:?}");
                ended_early += usize::from(!has_parts);
            }
            assert_eq!(coarse_boxes(&deck, &spec, ranks).len(), alone.len());
        }
    }
    assert!(ended_early > 0);
}

/// One rank owns nearly all nodes, so that no coarser box has a node for the other one: 65^3 nodes are too many for every rank, 17^3 are not.
#[test]
fn a_large_box_that_cannot_be_cut_ends_the_coarsening() {
    let chosen = |nodes: u64, ranks: usize| {
        let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [nodes; 3]);
        deck.mesh.imbalance = 99.0;
        let spec = deck.spec(deck.mesh.nodes.unwrap()).unwrap();
        let boxes = coarse_boxes(&deck, &spec, ranks).iter().map(|coarse| coarse.ranks).collect::<Vec<_>>();
        deck.cg.preconditioner = Choice::Auto;
        (boxes, preconditioned::<Threads>(&deck, &spec, ranks).unwrap().preconditioning())
    };
    assert_eq!(chosen(129, 1), (vec![1; 5], Preconditioning::Multigrid));
    assert_eq!(chosen(129, 2), (vec![], Preconditioning::Jacobi));
    assert_eq!(chosen(33, 2), (vec![1; 3], Preconditioning::None));
}

/// Coarsening goes on where a coarse box has fewer nodes than ranks.
#[test]
fn iterations_do_not_depend_on_the_ranks() {
    for (kind, nodes, size) in [
        (ProblemKind::Heat, [9, 9, 9], [1.0; 3]),
        (ProblemKind::Poisson, [5, 9, 65], [1.0, 2.0, 16.0]),
        (ProblemKind::Poisson, [33, 33, 3], [1.0, 1.0, 100.0]),
        (ProblemKind::Elasticity, [5, 5, 33], [1.0, 1.0, 8.0]),
    ] {
        let mut deck = deck(kind, ElementType::Hex8, nodes);
        (deck.mesh.size, deck.newton.forcing) = (size, Choice::Given(crate::run::deck::Forcing::Fixed));
        let alone = solve(&deck, &Solo, &silent).unwrap();
        let one = most_iterations(&alone);
        for ranks in [2, 3, 4, 5, 6, 8] {
            let on = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
            let (found, what) = (most_iterations(&on[0]), format!("{kind} on {nodes:?}, {ranks} ranks"));
            assert!(found > 0 && found.abs_diff(one) <= 1, "{what}: {found}, one rank {one}");
            // Some of these boxes are too coarse for a verdict, on any number of ranks.
            assert_eq!(on[0].verdict, alone.verdict, "{what}");
        }
    }
}

/// A cycle exchanges the ghosts of shared levels, before each of four products, and sends a small residual to all other ranks once.
#[test]
fn a_cycle_sends_no_message_on_levels_that_every_rank_has() {
    let counts = on_ranks(4, |comm| {
        prepared([17, 12, 15], comm, |system, multigrid| {
            let halo = system.input.links.halo(&Serial, system.map()).unwrap();
            let before = comm.messages.get();
            images(1, system, multigrid);
            (comm.messages.get() - before, 4 * halo.messages() + 3)
        })
    });
    assert!(counts.iter().all(|(found, expected)| found == expected && *found > 3), "{counts:?}");
}

/// Levels, unknowns of coarse matrices with their ghosts, transfers and the last inverse of ranks are those of one.
#[test]
fn ranks_have_the_cycle_of_one() {
    let by_id = |comm: &dyn Communicator| {
        prepared([17, 12, 15], comm, |system, multigrid| {
            let [_, image] = images(1, system, multigrid);
            let mesh = system.input.mesh;
            (0..).map(|node| mesh.global_node(node)).zip(image).collect::<Vec<(u64, f64)>>()
        })
    };
    let mut one = by_id(&Solo);
    one.sort_unstable_by_key(|(id, _)| *id);
    let largest = one.iter().fold(0.0f64, |most, (_, value)| most.max(value.abs()));
    for ranks in [2, 5] {
        let mut all = on_ranks(ranks, |comm| by_id(comm)).concat();
        all.sort_unstable_by_key(|(id, _)| *id);
        assert_eq!(all.len(), one.len());
        for ((id, value), (_, expected)) in all.iter().zip(&one) {
            assert!((value - expected).abs() < 1e-9 * largest, "{ranks} ranks, node {id}: {value}, {expected}");
        }
    }
}
