//! Jacobians applied by elements on a GPU against `Serial`, and runs without a matrix.

use super::super::products::cases;
use super::{difference, gpu};
use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::fill::Strategy;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{Choice, Deck, Forcing, Nodes, Operator, Preconditioning, Preset, ProblemKind};
use minifenl::run::{Report, silent, solve_on};
use minifenl::solve::CgVariant;
use minifenl::space::{Cuda, Serial};

#[test]
fn products_by_elements_equal_those_of_the_host() {
    let Some(space) = gpu("products_by_elements_equal_those_of_the_host") else { return };
    for case in cases() {
        let expected = case.applied(&Serial, Strategy::Gather);
        for (strategy, name) in Strategy::on_gpu() {
            let (found, again) = (case.applied(&space, strategy), case.applied(&space, strategy));
            for (which, what) in ["y", "residual"].into_iter().enumerate() {
                let by = difference(&found[which], &expected[which]);
                assert!(by < 3e-14, "{}, {name}: {what} differs by {by:e}", case.name);
                let bits = |of: &[f64]| of.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                let is_same = bits(&found[which]) == bits(&again[which]);
                assert!(is_same || !strategy.is_reproducible(), "{}, {name}: {what} has other bits", case.name);
            }
        }
    }
}

fn run(space: &Cuda, deck: &Deck) -> Report {
    solve_on(space, deck, &Solo, &silent).unwrap()
}

#[test]
fn runs_without_a_matrix_converge_as_those_with_one() {
    let Some(space) = gpu("runs_without_a_matrix_converge_as_those_with_one") else { return };
    for (problem, element, nodes) in [
        (ProblemKind::Heat, ElementType::Hex8, 64),
        (ProblemKind::Heat, ElementType::Tet10, 33),
        (ProblemKind::Poisson, ElementType::Hex27, 33),
        (ProblemKind::Diffusion, ElementType::Wedge6, 33),
        (ProblemKind::Elasticity, ElementType::Hex8, 33),
        (ProblemKind::Elasticity, ElementType::Hex20, 17),
    ] {
        let mut deck = Deck::default();
        deck.run.preset = Preset::Fast;
        (deck.problem.kind, deck.mesh.element) = (problem, element);
        deck.mesh.nodes = Nodes::new([nodes; 3]).ok();
        deck.mesh.map = CoordinateMap::Twist(0.2);
        deck.cg.variant = Choice::Given(CgVariant::Classic);
        deck.newton.forcing = Choice::Given(Forcing::Fixed);
        let plain = Strategy::on_gpu().map(|(strategy, _)| (Preconditioning::None, strategy));
        let others = [Preconditioning::Jacobi, Preconditioning::Chebyshev, Preconditioning::Multigrid];
        let others = others.map(|preconditioning| (preconditioning, Strategy::Gather));
        for (preconditioning, strategy) in plain.chain(others) {
            deck.cg.preconditioner = Choice::Given(preconditioning);
            (deck.cg.operator, deck.fill.strategy) = (Operator::Assembled, Choice::Auto);
            let assembled = run(&space, &deck);
            (deck.cg.operator, deck.fill.strategy) = (Operator::MatrixFree, Choice::Given(strategy));
            let found = run(&space, &deck);
            let what = format!("{problem} on {element}, {preconditioning}, {strategy}");
            assert!(found.verified && assembled.verified, "{what}: {:?}", found.verdict);
            let counts = [found.cg_iterations, assembled.cg_iterations];
            assert!(counts[0].abs_diff(counts[1]) <= found.newton_iterations, "{what}: iterations {counts:?}");
            assert!((found.error_l2 / assembled.error_l2 - 1.0).abs() < 1e-5, "{what}");
        }
    }
}
