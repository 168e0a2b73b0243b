//! Memory of preconditioners and methods, and what an iteration costs.

use super::*;

/// 40 bytes per unknown of the finest level; aggregates by their bound; of boxes a problem of their own, the finer
/// unknowns, and vectors: 9^3 nodes over 5^3; transfers of one rank store nothing for a node. Other methods have vectors of their own.
#[test]
fn memory_of_preconditioners_and_methods_is_that_by_hand() {
    let stages = |kind, nodes: u64, preconditioner, solver| {
        let mut deck = deck(kind, ElementType::Hex8, [nodes; 3]);
        (deck.cg.preconditioner, deck.cg.solver) = (Choice::Given(preconditioner), Choice::Given(solver));
        dry_run(&deck, &Solo, &silent).unwrap().largest.forecast.stages
    };
    for (kind, dofs) in [(ProblemKind::Heat, 1), (ProblemKind::Elasticity, 3)] {
        let plain = stages(kind, 9, Preconditioning::None, Solver::Cg);
        let (rows, entries) = (dofs * 729, dofs * dofs * 15_625);
        let coarse = stages(kind, 5, Preconditioning::None, Solver::Cg).into_iter().max().unwrap();
        let boxes = coarse + 8 * dofs * 729 + 36 * dofs * 125;
        // The last level's inverse in CRS; its columns, those of all ranks, and the matrix.
        let inverse = |n: u64| 12 * n * n + 8 * (n + 1) + 3 * 8 * n * n;
        let gmres = 8 * (31 * rows + rows);
        for (preconditioner, solver, more) in [
            (Preconditioning::Jacobi, Solver::Cg, 40 * rows),
            (Preconditioning::Chebyshev, Solver::Cg, 40 * rows),
            (Preconditioning::Algebraic, Solver::Cg, 40 * rows + 34 * entries + 420 * rows + inverse(400)),
            (Preconditioning::Multigrid, Solver::Cg, 40 * rows + boxes + inverse(dofs * 125)),
            (Preconditioning::None, Solver::Gmres, gmres),
            (Preconditioning::Jacobi, Solver::Gmres, 40 * rows + gmres),
            (Preconditioning::None, Solver::BiCgStab, 8 * 6 * rows),
        ] {
            let [mesh, graph, setup, solve] = plain;
            let expected = [mesh, graph, setup + more, solve + more];
            assert_eq!(stages(kind, 9, preconditioner, solver), expected, "{kind}, {preconditioner}, {solver}");
        }
    }
}

/// Methods for matrices of any kind: vectors as they state them, and two products of BiCGStab.
#[test]
fn an_iteration_of_another_method_moves_and_computes_what_it_states() {
    let mut deck = deck(ProblemKind::Poisson, ElementType::Hex8, [9; 3]);
    (deck.matrix.format, deck.cg.preconditioner) =
        (Choice::Given(crate::sparse::Format::Crs), Choice::Given(Preconditioning::None));
    let (rows, entries) = (729, 15_625);
    let product = 12 * entries + 8 * (rows + 1) + 16 * rows;
    for (solver, bytes, flops) in [
        // The mean over 30 iterations between restarts.
        (Solver::Gmres, product + 40 * 31 * rows, 2 * entries + 4 * 31 * rows),
        (Solver::BiCgStab, 2 * product + 264 * rows, 4 * entries + 25 * rows),
    ] {
        deck.cg.solver = Choice::Given(solver);
        let report = solve(&deck, &Solo, &silent).unwrap();
        let phase = report.phases.iter().find(|phase| phase.name == "cg").unwrap();
        let found = [phase.bytes, phase.flops].map(|all| (all / phase.calls as f64).round() as u64);
        assert_eq!((found, phase.calls), ([bytes, flops], report.cg_iterations as u64), "{solver}");
        // Each product comes with a step of the preconditioner.
        let mut with = deck.clone();
        with.cg.preconditioner = Choice::Given(Preconditioning::Jacobi);
        let report = solve(&with, &Solo, &silent).unwrap();
        let phase = report.phases.iter().find(|phase| phase.name == "cg").unwrap();
        let found = [phase.bytes, phase.flops].map(|all| (all / phase.calls as f64).round() as u64);
        let steps = if solver == Solver::BiCgStab { 2 } else { 1 };
        assert_eq!(found, [bytes + steps * 32 * rows, flops + steps * 2 * rows], "{solver}");
    }
}
