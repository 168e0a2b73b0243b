//! The steps of the heat problem on a small box.

use super::*;
use crate::comm::{Links, Solo};
use crate::graph;
use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use crate::run::problem::linear::Linear;
use crate::run::{Deck, Phases, silent};
use crate::solve::{NonlinearProblem, TrueResidual};
use crate::space::{Serial, Threads};
use crate::sparse::{Format, Formats};

/// Calls `work` with a problem on a twisted box whose first residual and Jacobian are assembled.
fn assembled<R>(format: Format, work: impl FnOnce(Problem<'_, Threads>, [&Vec<f64>; 2]) -> R) -> R {
    let (mut deck, phases) = (Deck::default(), Phases::default());
    deck.matrix.format = Choice::Given(format);
    let spec = BoxSpec::new([9, 8, 7], [1.0; 3], CoordinateMap::TWIST).unwrap();
    let mesh = Mesh::new(&Serial, BoxPart::new(&spec, 0, 1).unwrap()).unwrap();
    let graph = graph::build(&Serial, &mesh.elem_node, mesh.map.owned_count(), graph::Strategy::default()).unwrap();
    let input = ProblemInput {
        deck: &deck,
        links: &Links::staged(&Solo),
        mesh: &mesh,
        coarse: &[],
        phases: &phases,
        progress: &silent,
    };
    let mut problem = Problem::new(&Serial, input, Some(graph)).unwrap();
    let (mut x, mut residual) = (problem.start().unwrap(), vec![0.0; problem.rows()]);
    problem.assemble(&mut x, &mut residual).unwrap();
    work(problem, [&x, &residual])
}

#[test]
fn the_jacobian_is_symmetric_until_one_entry_is_changed() {
    // Assembled in rows, and in slices.
    for format in [Format::Crs, Format::Pattern] {
        assembled(format, |mut problem, _| {
            let symmetry = problem.finish().unwrap();
            assert!(symmetry.departure < 1e-14 && symmetry.norm > 0.1, "{symmetry:?}");
            // A column of a free row in the middle of the box.
            let row = 9 * 8 * 3 + 9 * 4 + 4;
            let Linear::Matrix(stored) = &mut problem.system.linear else { panic!("no matrix") };
            let matrix = &mut stored.system.matrix;
            let entry = matrix.graph().row_range(row).start;
            assert_ne!(matrix.graph().entries()[entry] as usize, row);
            let at = matrix.parts().0.value(row, 0);
            Threads::values_mut(matrix)[at] += 1e-3;
            let broken = problem.finish().unwrap();
            assert!(broken.departure > 1e-8, "{format}: {broken:?}");
        });
    }
}

#[test]
fn a_solve_computes_its_residual_again_and_books_it_apart() {
    assembled(Format::Crs, |mut problem, [x, residual]| {
        let mut delta = vec![0.0; problem.rows()];
        let info = problem.solve(x, residual, &mut delta, None).unwrap();
        let recomputed = info.recomputed.unwrap();
        assert!(recomputed.residual <= 1.01e-8 * info.rhs && recomputed.residual > 0.0, "{info:?}");
        assert!((recomputed.solution - delta.iter().map(|x| x * x).sum::<f64>().sqrt()).abs() < 1e-12);
        let totals = problem.system.input.phases.totals();
        let steps: Vec<_> = totals.iter().map(|phase| phase.name).filter(|name| name.starts_with("setup/")).collect();
        assert_eq!(steps, ["halo", "boundary", "format", "fill", "cg"].map(|step| format!("setup/{step}")));
        let calls = |name| totals.iter().find(|phase| phase.name == name).unwrap().calls;
        // CG applies A once before its iterations; the check is not counted there.
        assert_eq!(
            (calls("spmv"), calls("cg"), calls("verify")),
            (info.iterations as u64 + 1, info.iterations as u64, 1)
        );
        // One rank exchanges nothing: its products take the time, within that of CG.
        let seconds = |name| totals.iter().find(|phase| phase.name == name).unwrap().seconds;
        assert!(seconds("spmv") > seconds("halo") && seconds("cg") > seconds("spmv") + seconds("halo"), "{totals:?}");
    });
}

/// Velocity and spacing belong to an axis, and the conductivity of heat divides.
#[test]
fn advection_is_compared_with_diffusion_along_each_axis() {
    use crate::run::deck::ProblemKind::{Diffusion, Heat};
    let spec = BoxSpec::new([5, 3, 9], [2.0, 0.5, 4.0], CoordinateMap::None).unwrap();
    for (advection, expected) in [([3.0, 1.0, 1.0], 1.5), ([1.0, -8.0, 1.0], 2.0), ([1.0, 2.0, -5.0], 2.5)] {
        for kind in [Diffusion, Heat] {
            let mut deck = Deck::default();
            (deck.problem.kind, deck.problem.advection) = (kind, advection);
            let case = Case::new(&deck, &spec);
            let k = if kind == Heat { case.heat().unwrap().conductivity } else { 1.0 };
            assert_eq!(case.advection_ratio(&deck, &spec), expected / k, "{advection:?}, {kind}");
            // The next finer box is within the limit, and one node less is not.
            let needed = case.nodes_for_advection(&deck, &spec);
            let ratio = |nodes: [u64; 3]| {
                case.advection_ratio(&deck, &BoxSpec::new(nodes, spec.size(), CoordinateMap::None).unwrap())
            };
            assert!(ratio(needed) <= 2.0, "{needed:?}");
            for axis in (0..3).filter(|&axis| needed[axis] > spec.nodes()[axis]) {
                let mut less = needed;
                less[axis] -= 1;
                assert!(ratio(less) > 2.0, "{less:?}");
            }
        }
    }
}

#[test]
fn iterations_far_beyond_convergence_are_told_by_the_true_residual() {
    let found = |reason, residual| {
        let recomputed = Some(TrueResidual { residual, solution: 1.0 });
        diverged(&SolveInfo { iterations: 7, residual: 1e-9, rhs: 4.0, reason, recomputed, ..SolveInfo::default() })
    };
    let told = found(Reason::Iterations, 12.0).unwrap();
    assert!(told.contains("after 7 iterations CG's true residual is 3.0e0 times its right-hand side"), "{told}");
    assert_eq!((found(Reason::Iterations, 4.0), found(Reason::RelativeTolerance, 12.0)), (None, None));
}
