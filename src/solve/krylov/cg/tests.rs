//! CG on second differences: solutions by hand, equal bits on every number of threads, failures by type.

use super::*;
use crate::comm::{Communicator, Solo};
use crate::solve::{Identity, Preconditioner, symmetry, true_residual};
use crate::space::{ExecutionSpace, Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix, Spmv};
use std::sync::Arc;

/// The second difference of `n` points with `diagonal` on the diagonal.
pub(super) fn difference(n: usize, diagonal: f64) -> CrsMatrix {
    let rows = (0..n).map(|i| (i.saturating_sub(1)..n.min(i + 2)).map(|j| j as u32).collect::<Vec<_>>());
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for (i, columns) in rows.enumerate() {
        values.extend(columns.iter().map(|&j| if j as usize == i { diagonal } else { -1.0 }));
        entries.extend(columns);
        row_map.push(entries.len() as u64);
    }
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, n).unwrap()), values).unwrap()
}

fn run(space: &Threads, a: &CrsMatrix, b: &[f64], x: &mut [f64], params: CgParams) -> Result<SolveInfo> {
    let n = a.graph().rows();
    let mut work = CgWorkspace::new(space, n, n).unwrap();
    let mut seen = 0;
    let mut system = LinearSystem { operator: a, preconditioner: &mut Identity, comm: &Solo, rhs: b };
    let info = cg(space, &mut system, x, params, &mut work, &mut |iteration, _| {
        seen += 1;
        assert_eq!(iteration, seen);
        Ok(())
    });
    if let Ok(info) = info {
        assert_eq!(info.iterations, seen);
    }
    info
}

pub(super) const TIGHT: CgParams = CgParams::new(1e-12, 1000);

#[test]
fn cg_recovers_a_parabola_from_its_second_difference() {
    let n = 50;
    let exact: Vec<f64> = (1..=n).map(|i| (i * (n + 1 - i)) as f64).collect();
    let mut x = vec![0.0; n];
    let info = run(&Serial, &difference(n, 2.0), &vec![2.0; n], &mut x, TIGHT).unwrap();
    assert!(info.iterations <= n && info.residual <= 1e-12 * info.rhs);
    assert!(x.iter().zip(&exact).all(|(x, e)| (x - e).abs() < 1e-9 * e));
    let again = run(&Serial, &difference(n, 2.0), &vec![2.0; n], &mut x, CgParams { tolerance: 1e-8, ..TIGHT });
    assert_eq!(again.unwrap().iterations, 0, "a solution given as the start needs no iteration");
}

#[test]
fn threads_change_no_bit() {
    let n = 3 * Threads::CHUNK + 11;
    let (a, b) = (difference(n, 2.5), (0..n).map(|i| (i as f64).sin()).collect::<Vec<_>>());
    let solve = |threads| {
        let mut x = vec![0.0; n];
        let info = run(&Threads::new(threads).unwrap(), &a, &b, &mut x, TIGHT).unwrap();
        (x, info)
    };
    assert_eq!(solve(1), solve(3));
    let mut x = vec![0.0; n];
    assert_eq!(run(&Serial, &a, &b, &mut x, TIGHT).unwrap(), solve(2).1);
    let mut product = Serial.zeros(n).unwrap();
    Serial.spmv(&a, &x, &mut product).unwrap();
    assert!(product.iter().zip(&b).all(|(p, b): (&f64, &f64)| (p - b).abs() < 1e-9));
}

#[test]
fn a_zero_right_side_takes_no_iteration() {
    for start in [0.0, 1.0] {
        let mut x = vec![start; 4];
        let info = run(&Serial, &difference(4, 2.0), &[0.0; 4], &mut x, TIGHT).unwrap();
        assert_eq!(info, SolveInfo { reason: Reason::Zero, ..SolveInfo::default() });
        assert_eq!(x, [0.0; 4]);
    }
}

#[test]
fn each_failure_is_typed_and_has_its_numbers() {
    let few = CgParams { max_iterations: 3, ..TIGHT };
    let failed = |diagonal, b: Vec<f64>, params| {
        run(&Serial, &difference(20, diagonal), &b, &mut [0.0; 20], params).unwrap_err()
    };
    assert!(
        matches!(failed(2.0, vec![1.0; 20], few), Error::NotConverged { iterations: 3, residual, .. } if residual > 0.0)
    );
    assert!(
        matches!(failed(-2.0, vec![1.0; 20], TIGHT), Error::Breakdown { iteration: 0, curvature, .. } if curvature < 0.0)
    );
    assert!(matches!(failed(2.0, vec![f64::NAN; 20], TIGHT), Error::NotFinite { quantity: "||b||", .. }));
    assert!(matches!(failed(f64::NAN, vec![1.0; 20], TIGHT), Error::NotFinite { .. }));
    // The first step, number 0, goes 1e200 along the first unknown.
    let graph = CrsGraph::new(vec![0, 2, 4], vec![0, 1, 0, 1], 2).unwrap();
    let a = CrsMatrix::new(Arc::new(graph), vec![1e-200, 1.0, 1.0, 1.0]).unwrap();
    let error = run(&Serial, &a, &[1.0, 0.0], &mut [0.0; 2], TIGHT).unwrap_err();
    assert!(matches!(error, Error::NotFinite { quantity: "||r||", iteration: 0, .. }), "{error:?}");
}

#[test]
fn norms_that_underflow_are_no_success() {
    let solve = |b: f64, tolerance| {
        let params = CgParams { tolerance, ..TIGHT };
        run(&Serial, &difference(20, 3.0), &[b; 20], &mut [0.0; 20], params)
    };
    // The sum of squares is 0, or subnormal.
    for b in [5e-324, 1e-200, 1e-155] {
        assert!(matches!(solve(b, 1e-8), Err(Error::Underflow { quantity: "||b||", .. })), "{b}");
    }
    // ||r|| passes a target whose square is subnormal.
    let error = solve(1e-140, 1e-15).unwrap_err();
    assert!(matches!(error, Error::Underflow { quantity: "tolerance ||b||", .. }), "{error}");
    assert!(error.to_string().contains("square underflows"), "{error}");
    assert_eq!(solve(1e-140, 1e-8).unwrap().iterations, solve(1.0, 1e-8).unwrap().iterations);
}

#[test]
fn an_absolute_tolerance_ends_a_solve_whatever_the_right_side() {
    let solve = |b: f64, tolerance, absolute| {
        let params = CgParams { absolute, ..CgParams::new(tolerance, 1000) };
        run(&Serial, &difference(20, 3.0), &[b; 20], &mut [0.0; 20], params)
    };
    // ||b|| = sqrt(20) b.
    let (relative, absolute) = (solve(1.0, 1e-8, 0.0).unwrap(), solve(1.0, 0.0, 1e-8 * 20f64.sqrt()).unwrap());
    assert_eq!((relative.iterations, relative.residual), (absolute.iterations, absolute.residual));
    assert_eq!((relative.reason, absolute.reason), (Reason::RelativeTolerance, Reason::AbsoluteTolerance));
    let small = solve(1.0, 1e-8, 1e-12).unwrap();
    assert_eq!((small.reason, small.iterations), (Reason::RelativeTolerance, relative.iterations));
    // A start below the tolerance is the solution, even if the squares of its residual underflow.
    for b in [0.0, 1e-200, 1e-9] {
        let info = solve(b, 1e-8, 1e-6).unwrap();
        assert_eq!((info.reason, info.iterations), (Reason::AbsoluteTolerance, 0), "{b}");
    }
    // A tolerance whose square underflows, too, makes no difference, wherever the solve starts.
    let params = CgParams { absolute: 1e-180, ..CgParams::new(1e-8, 1000) };
    for start in [0.0, 1.0] {
        let found = run(&Serial, &difference(20, 3.0), &[1e-200; 20], &mut [start; 20], params);
        assert!(matches!(found, Err(Error::Underflow { quantity: "||b||", .. })), "from {start}: {found:?}");
    }
    for absolute in [-1.0, f64::NAN] {
        assert!(solve(1.0, 1e-8, absolute).unwrap_err().to_string().contains("absolute tolerance"));
    }
}

#[test]
fn the_true_residual_is_that_of_x_and_not_of_the_recurrence() {
    let n = 2 * Threads::CHUNK + 9;
    let (a, b): (_, Vec<f64>) = (difference(n, 2.5), (0..n).map(|i| (i as f64).sin()).collect());
    let (mut x, mut work) = (vec![0.0; n], CgWorkspace::new(&Serial, n, n).unwrap());
    let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
    let params = CgParams::new(1e-6, 100);
    let info = cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(())).unwrap();
    assert_eq!(info.recomputed, None);
    let honest = true_residual(&Serial, &system, &x, &mut work).unwrap();
    assert!((honest.residual / info.residual - 1.0).abs() < 1e-6, "{honest:?} {info:?}");
    assert!((honest.solution - x.iter().map(|x| x * x).sum::<f64>().sqrt()).abs() < 1e-9);
    // An x that the recurrence does not know of: row 5 of A has 2.5 on the diagonal and -1 beside it.
    x[5] += 1.0;
    let changed = true_residual(&Serial, &system, &x, &mut work).unwrap();
    assert!((changed.residual - (2.5f64 * 2.5 + 2.0).sqrt()).abs() < 1e-4, "{changed:?}");
}

#[test]
fn one_entry_is_enough_to_break_symmetry() {
    let n = 3 * Threads::CHUNK;
    let departure = |a: &CrsMatrix| {
        let mut work = CgWorkspace::new(&Serial, n, n).unwrap();
        let wave = |k: f64| move |(i, item): (usize, &mut f64)| *item = (k * i as f64).sin();
        let waves = [wave(0.7), wave(1.9)];
        symmetry(&Serial, a, &Solo, &mut work, |which, vector: &mut [f64]| {
            vector.iter_mut().enumerate().take(n).for_each(waves[which]);
            Ok(())
        })
        .unwrap()
    };
    let mut a = difference(n, 2.0);
    let symmetric = departure(&a);
    assert!(symmetric.departure < 1e-15 && (1.0..=4.0).contains(&symmetric.norm), "{symmetric:?}");
    // The last entry but one is the lower off-diagonal entry of the last row.
    let (_, values) = a.parts_mut();
    let last = values.len() - 2;
    values[last] *= 1.001;
    let broken = departure(&a);
    assert!(broken.departure > 1e-9, "{broken:?}");
}

/// z_i = r_i / a_ii
pub(super) struct Diagonal(pub Vec<f64>);

impl Preconditioner<Threads> for Diagonal {
    fn apply(&mut self, _: &Threads, n: usize, r: &[f64], z: &mut [f64]) -> Result<()> {
        (0..n).for_each(|i| z[i] = r[i] / self.0[i]);
        Ok(())
    }
}

/// A badly scaled second difference: D (2, -1) D, with D from 1 to 10.
pub(super) fn badly_scaled(n: usize) -> (CrsMatrix, Vec<f64>) {
    let scale = |i: usize| 10f64.powf(i as f64 / n as f64);
    let mut a = difference(n, 2.1);
    let graph = a.graph().clone();
    let (_, values) = a.parts_mut();
    for row in 0..n {
        for entry in graph.row_range(row) {
            values[entry] *= scale(row) * scale(graph.entries()[entry] as usize);
        }
    }
    (a, (0..n).map(|i| 2.1 * scale(i) * scale(i)).collect())
}

#[test]
fn a_preconditioner_takes_fewer_iterations_to_the_same_solution() {
    let n = 200;
    let (a, diagonal) = badly_scaled(n);
    let exact: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).sin()).collect();
    let mut b = vec![0.0; n];
    Serial.spmv(&a, &exact, &mut b).unwrap();
    let mut work = CgWorkspace::new(&Serial, n, n).unwrap();
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
    let plain = run(&Serial, &a, &b, &mut x, TIGHT).unwrap();
    let mut system = LinearSystem { operator: &a, preconditioner: &mut Diagonal(diagonal), comm: &Solo, rhs: &b[..] };
    let preconditioned = cg(&Serial, &mut system, &mut y, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
    assert!(3 * preconditioned.iterations < plain.iterations, "{preconditioned:?}, {plain:?}");
    assert!(preconditioned.residual <= TIGHT.tolerance * preconditioned.rhs);
    assert!(y.iter().zip(&exact).all(|(y, exact)| (y - exact).abs() < 1e-6), "{y:?}");
}

/// With M = I through the general path, every bit is that of plain CG.
#[test]
fn the_identity_as_a_general_preconditioner_changes_no_bit() {
    let n = 2 * Threads::CHUNK + 3;
    let (a, b): (_, Vec<f64>) = (difference(n, 2.5), (0..n).map(|i| (i as f64).sin()).collect());
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
    let plain = run(&Serial, &a, &b, &mut x, TIGHT).unwrap();
    let mut work = CgWorkspace::new(&Serial, n, n).unwrap();
    let mut system =
        LinearSystem { operator: &a, preconditioner: &mut Diagonal(vec![1.0; n]), comm: &Solo, rhs: &b[..] };
    let info = cg(&Serial, &mut system, &mut y, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
    // But for r.z, which has an all-reduce of its own.
    assert_eq!(info.reductions, plain.reductions + plain.iterations + 1);
    assert_eq!((SolveInfo { reductions: plain.reductions, ..info }, y), (plain, x));
}

/// A launch that does nothing but set the state, and is refused where ranks or a variant leave no place for it.
#[test]
fn one_launch_is_for_one_rank_and_classic_cg() {
    let a = difference(20, 3.0);
    let ranks = crate::comm::testing::Postbox::default();
    let launch: Box<SingleLaunch<'_, Threads>> = Box::new(|_, _, _, sums| {
        (sums.scalars[CgSlot::COUNT], sums.scalars[CgSlot::STATE]) = (7.0, 1.0);
        Ok(())
    });
    let (none, diagonal) = (&mut Identity as &mut dyn Preconditioner<Threads>, &mut Diagonal(vec![1.0; 20]));
    for (comm, variant, preconditioner, is_refused) in [
        (&Solo as &dyn Communicator, CgVariant::Classic, none, false),
        (&Solo, CgVariant::Classic, diagonal, true),
        (&Solo, CgVariant::SingleReduction, &mut Identity, true),
        (&ranks, CgVariant::Classic, &mut Identity, true),
    ] {
        let (mut work, b) = (CgWorkspace::of_variant(&Serial, 20, 20, variant).unwrap(), vec![1.0; 20]);
        let mut system = LinearSystem { operator: &a, preconditioner, comm: &comm, rhs: &b[..] };
        let params = CgParams::new(1e-12, 9);
        let solved =
            cg_single_launch(&Serial, &launch, &mut system, &mut [0.0; 20], params, &mut work, &mut |_, _| Ok(()));
        assert_eq!(solved.is_err(), is_refused, "{solved:?}");
        if let Ok(info) = solved {
            // Norms of b and of the first r, one sum before the iterations, one in each.
            assert_eq!((info.iterations, info.one_launch, info.reductions), (7, true, 10));
        }
    }
}

/// A = diag(1, 4) and b = (1, 1): r = (0.6, -0.6) after a step of 2/5 along b; a limit there leaves its numbers in the workspace.
#[test]
fn a_solve_that_is_stopped_has_the_numbers_by_hand() {
    let a = CrsMatrix::new(Arc::new(CrsGraph::new(vec![0, 1, 2], vec![0, 1], 2).unwrap()), vec![1.0, 4.0]).unwrap();
    for (variant, reductions) in [(CgVariant::Classic, 2 + 2), (CgVariant::SingleReduction, 2 + 1)] {
        let mut work = CgWorkspace::of_variant(&Serial, 2, 2, variant).unwrap();
        let mut system =
            LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &[1.0, 1.0][..] };
        let (mut x, mut seen) = ([0.0; 2], Vec::new());
        let observe = &mut |iteration, norm| {
            seen.push((iteration, norm));
            Ok(())
        };
        let end = cg(&Serial, &mut system, &mut x, CgParams::new(1e-3, 1), &mut work, observe);
        let Err(Error::NotConverged { method, iterations, residual, tolerance }) = end else { panic!("{end:?}") };
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-14, "{found}, {expected}");
        assert_eq!((method, iterations, seen.len(), seen[0].0), ("CG", 1, 1, 1));
        let stopped = work.stopped().unwrap();
        for (found, expected) in [
            (residual, 0.72f64.sqrt()),
            (seen[0].1, 0.72f64.sqrt()),
            (stopped.residual, 0.72f64.sqrt()),
            (stopped.rhs, 2f64.sqrt()),
            (stopped.target, 1e-3 * 2f64.sqrt()),
            (tolerance, 1e-3 * 2f64.sqrt()),
            (x[0], 0.4),
            (x[1], 0.4),
        ] {
            near(found, expected);
        }
        assert_eq!((stopped.iterations, stopped.reductions, stopped.variant), (1, reductions, variant));
        // The next solve takes the second step, to the solution, and forgets the first.
        let info = cg(&Serial, &mut system, &mut x, CgParams::new(1e-3, 5), &mut work, &mut |_, _| Ok(())).unwrap();
        assert_eq!((info.iterations, work.stopped()), (2, None));
        near(x[1], 0.25);
    }
}

/// A = [2 0.5; 0 1] on x = (3, 4) and y = (1, 0).
#[test]
fn departure_and_norm_are_those_by_hand() {
    let [x, y] = [[3.0, 4.0], [1.0, 0.0]];
    // A x = (8, 4), A y = (2, 0).
    let expected = [(6.0f64 - 8.0).abs() / (5.0 * 2.0f64).max(80f64.sqrt()), 2.0];
    let graph = Arc::new(CrsGraph::new(vec![0, 2, 4], vec![0, 1, 0, 1], 2).unwrap());
    let a = CrsMatrix::new(graph, vec![2.0, 0.5, 0.0, 1.0]).unwrap();
    let mut work = CgWorkspace::new(&Serial, 2, 2).unwrap();
    let found = symmetry(&Serial, &a, &Solo, &mut work, |which, vector: &mut [f64]| {
        vector[..2].copy_from_slice(&[x, y][which]);
        Ok(())
    });
    let found = found.unwrap();
    assert!((found.departure - expected[0]).abs() < 1e-15 && (found.norm - expected[1]).abs() < 1e-15, "{found:?}");
}
