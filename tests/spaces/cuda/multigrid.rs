//! Preconditioners on a GPU against those of a host: iterations, levels, answers.

use super::gpu;
use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::run::deck::{Choice, Deck, Nodes, Preconditioning, Preset, ProblemKind};
use minifenl::run::{silent, solve_on};
use minifenl::space::Threads;
use minifenl::sparse::{Format, Precision};

#[test]
fn preconditioners_agree_with_those_of_a_host() {
    let Some(space) = gpu("preconditioners_agree_with_those_of_a_host") else { return };
    let host = Threads::new(4).unwrap();
    for (kind, element, nodes) in [
        (ProblemKind::Heat, ElementType::Hex8, [33, 30, 41]),
        (ProblemKind::Heat, ElementType::Hex8, [60, 50, 49]),
        (ProblemKind::Poisson, ElementType::Hex27, [17, 13, 9]),
        (ProblemKind::Poisson, ElementType::Hex20, [17, 13, 9]),
        (ProblemKind::Poisson, ElementType::Tet4, [17, 13, 10]),
        (ProblemKind::Elasticity, ElementType::Hex8, [13, 17, 9]),
    ] {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.problem.kind, deck.mesh.element) = (Nodes::new(nodes).ok(), kind, element);
        (deck.run.preset, deck.mesh.map) = (Preset::Fast, "twist:0.1".parse().unwrap());
        for (preconditioning, format, values) in [
            (Preconditioning::Jacobi, Choice::Auto, Precision::F64),
            (Preconditioning::Chebyshev, Choice::Given(Format::Crs), Precision::F64),
            (Preconditioning::GaussSeidel, Choice::Auto, Precision::F64),
            (Preconditioning::Multigrid, Choice::Auto, Precision::F64),
            (Preconditioning::Algebraic, Choice::Auto, Precision::F64),
            (Preconditioning::Algebraic, Choice::Given(Format::Crs), Precision::F32),
            (Preconditioning::Multigrid, Choice::Given(Format::Pattern), Precision::F32),
        ] {
            deck.cg.preconditioner = Choice::Given(preconditioning);
            (deck.matrix.format, deck.matrix.values) = (format, values);
            let what = format!("{kind} on {element}, {preconditioning}, {values}");
            let [found, expected] =
                [solve_on(&space, &deck, &Solo, &silent), solve_on(&host, &deck, &Solo, &silent)].map(Result::unwrap);
            assert!(found.verified && expected.verified, "{what}: {:?} {:?}", found.verdict, expected.verdict);
            let iterations = [found.cg_iterations, expected.cg_iterations];
            assert!(iterations[0].abs_diff(iterations[1]) <= 1 + iterations[1] / 20, "{what}: {iterations:?}");
            let rows = |report: &minifenl::run::Report| {
                report.levels.iter().map(|level| (level.rows, level.entries)).collect::<Vec<_>>()
            };
            assert_eq!(rows(&found), rows(&expected), "{what}");
            assert!(found.levels.iter().all(|level| level.seconds > 0.0), "{what}: {:?}", found.levels);
        }
    }
}
