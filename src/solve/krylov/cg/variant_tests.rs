//! Single-reduction CG: against classic CG and a dense solve, and where rounding makes them drift.

use super::tests::{Diagonal, TIGHT, badly_scaled, difference};
use super::*;
use crate::comm::Solo;
use crate::solve::{Identity, Preconditioner, true_residual};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix, Spmv};
use std::sync::Arc;

const NEW: [CgVariant; 1] = [CgVariant::SingleReduction];

/// Result and x of a solve from 0 on one rank.
pub(super) fn solve(
    space: &Threads,
    variant: CgVariant,
    a: &CrsMatrix,
    mut m: impl Preconditioner<Threads>,
    b: &[f64],
    params: CgParams,
) -> (Result<SolveInfo>, Vec<f64>) {
    let n = a.graph().rows();
    let mut work = CgWorkspace::of_variant(space, n, n, variant).unwrap();
    let mut system = LinearSystem { operator: a, preconditioner: &mut m, comm: &Solo, rhs: b };
    let (mut x, mut seen) = (vec![0.0; n], 0);
    let info = cg(space, &mut system, &mut x, params, &mut work, &mut |iteration, _| {
        seen += 1;
        assert_eq!(iteration, seen, "{variant}");
        Ok(())
    });
    if let Ok(info) = info {
        assert_eq!((info.iterations, info.variant), (seen, variant));
    }
    (info, x)
}

pub(in crate::solve) fn wave(n: usize, k: f64) -> Vec<f64> {
    (0..n).map(|i| (k * i as f64).sin()).collect()
}

#[test]
fn iterates_and_counts_are_those_of_classic_cg() {
    for (n, diagonal, tolerance) in
        [(1, 2.0, 1e-12), (50, 2.0, 1e-12), (3 * Threads::CHUNK + 11, 2.5, 1e-12), (900, 2.01, 1e-9)]
    {
        let (a, b) = (difference(n, diagonal), wave(n, 0.77));
        let params = CgParams { tolerance, ..TIGHT };
        let (expected, solution) = solve(&Serial, CgVariant::Classic, &a, Identity, &b, params);
        let expected = expected.unwrap();
        for variant in NEW {
            let (info, x) = solve(&Serial, variant, &a, Identity, &b, params);
            let info = info.unwrap();
            assert!(info.iterations.abs_diff(expected.iterations) <= 1, "{variant}, {n}: {info:?}, {expected:?}");
            assert!(info.residual <= tolerance * info.rhs && info.rhs == expected.rhs, "{variant}, {n}: {info:?}");
            let scale = solution.iter().fold(0.0f64, |max, x| max.max(x.abs()));
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e4 * tolerance * scale;
            assert!(x.iter().zip(&solution).all(near), "{variant}, {n}");
            for threads in [1, 3] {
                let threaded = solve(&Threads::new(threads).unwrap(), variant, &a, Identity, &b, params);
                assert!(threaded.0.unwrap() == info && threaded.1 == x, "{variant}, {n}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_solution_and_a_zero_right_side_take_no_iteration() {
    let (n, a) = (20, difference(20, 2.0));
    for variant in NEW {
        let (mut work, b) = (CgWorkspace::of_variant(&Serial, n, n, variant).unwrap(), vec![2.0; n]);
        let mut x: Vec<f64> = (1..=n).map(|i| (i * (n + 1 - i)) as f64).collect();
        let exact = x.clone();
        let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
        let info = cg(&Serial, &mut system, &mut x, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
        assert_eq!((info.iterations, x), (0, exact.clone()), "{variant}");
        // The same memory again, from another start.
        let mut y = vec![-3.0; n];
        let info = cg(&Serial, &mut system, &mut y, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
        assert!(info.iterations > 5 && y.iter().zip(&exact).all(|(y, x)| (y - x).abs() < 1e-8), "{variant}: {y:?}");
        let zero = solve(&Serial, variant, &a, Identity, &vec![0.0; n], TIGHT);
        let expected = SolveInfo { reason: Reason::Zero, variant, ..SolveInfo::default() };
        assert_eq!((zero.0.unwrap(), zero.1), (expected, vec![0.0; n]));
    }
}

#[test]
fn nothing_of_a_failed_solve_is_left_in_the_next() {
    let n = 30;
    let (good, bad, b) = (difference(n, 2.1), difference(n, f64::NAN), wave(n, 0.3));
    // A r is finite, A A r is not.
    let mut large = good.clone();
    large.parts_mut().1.iter_mut().for_each(|value| *value *= 1e160);
    for variant in NEW {
        for preconditioned in [false, true] {
            let mut work = CgWorkspace::of_variant(&Serial, n, n, variant).unwrap();
            let mut run = |a: &CrsMatrix| {
                let mut x = vec![0.0; n];
                let info = if preconditioned {
                    let preconditioner = &mut Diagonal(vec![2.0; n]);
                    let mut system = LinearSystem { operator: a, preconditioner, comm: &Solo, rhs: &b[..] };
                    cg(&Serial, &mut system, &mut x, TIGHT, &mut work, &mut |_, _| Ok(()))
                } else {
                    let mut system =
                        LinearSystem { operator: a, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
                    cg(&Serial, &mut system, &mut x, TIGHT, &mut work, &mut |_, _| Ok(()))
                };
                (info, x)
            };
            let first = run(&good);
            assert!(matches!(run(&bad).0, Err(Error::NotFinite { .. })), "{variant}");
            let _ = run(&large);
            let again = run(&good);
            assert_eq!((first.0.unwrap(), first.1), (again.0.unwrap(), again.1), "{variant}, {preconditioned}");
        }
    }
}

#[test]
fn failures_have_the_types_and_numbers_of_classic_cg() {
    let n = 20;
    let mut saddle = difference(n, 3.0);
    saddle.parts_mut().1[0] = -40.0;
    let few = CgParams { max_iterations: 3, ..TIGHT };
    let none = CgParams { max_iterations: 0, ..TIGHT };
    let small = CgParams { tolerance: 1e-15, ..TIGHT };
    let cases = [
        (difference(n, 2.0), wave(n, 0.3), few),
        (difference(n, 2.0), wave(n, 0.3), none),
        (difference(n, -2.0), wave(n, 0.3), TIGHT),
        (saddle, wave(n, 0.3), TIGHT),
        (difference(n, 2.0), vec![f64::NAN; n], TIGHT),
        (difference(n, f64::NAN), wave(n, 0.3), TIGHT),
        (difference(n, 1e200), vec![1e120; n], TIGHT),
        (difference(n, 3.0), vec![1e-200; n], TIGHT),
        (difference(n, 3.0), vec![1e-140; n], small),
    ];
    for (case, (a, b, params)) in cases.into_iter().enumerate() {
        let expected = solve(&Serial, CgVariant::Classic, &a, Identity, &b, params).0.unwrap_err();
        for variant in NEW {
            let found = solve(&Serial, variant, &a, Identity, &b, params).0.unwrap_err();
            assert!(same(&found, &expected), "case {case}, {variant}: {found}; {expected}");
        }
    }
}

/// The same variant with the same numbers.
fn same(found: &Error, expected: &Error) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs() || (a.is_nan() && b.is_nan()) || a == b;
    match (found, expected) {
        (
            Error::NotConverged { iterations, residual, tolerance, .. },
            Error::NotConverged { iterations: i, residual: r, tolerance: t, .. },
        ) => iterations == i && near(*residual, *r) && near(*tolerance, *t),
        (
            Error::Breakdown { iteration, curvature, residual },
            Error::Breakdown { iteration: i, curvature: c, residual: r },
        ) => iteration == i && near(*curvature, *c) && near(*residual, *r),
        (
            Error::NotFinite { quantity, value, iteration, .. },
            Error::NotFinite { quantity: q, value: v, iteration: i, .. },
        ) => quantity == q && near(*value, *v) && iteration == i,
        (Error::Underflow { quantity, value, .. }, Error::Underflow { quantity: q, value: v, .. }) => {
            quantity == q && near(*value, *v)
        }
        _ => false,
    }
}

/// With M = I through the general path, every bit is that of the path without M.
#[test]
fn the_identity_as_a_general_preconditioner_changes_no_bit() {
    let n = 2 * Threads::CHUNK + 3;
    let (a, b) = (difference(n, 2.001), wave(n, 0.77));
    for variant in NEW {
        let plain = solve(&Serial, variant, &a, Identity, &b, TIGHT);
        let general = solve(&Serial, variant, &a, Diagonal(vec![1.0; n]), &b, TIGHT);
        assert_eq!((plain.0.unwrap(), plain.1), (general.0.unwrap(), general.1));
    }
}

#[test]
fn a_preconditioner_takes_the_iterations_of_classic_cg() {
    let n = 200;
    let (a, diagonal) = badly_scaled(n);
    let exact = wave(n, 0.3);
    let mut b = vec![0.0; n];
    Serial.spmv(&a, &exact, &mut b).unwrap();
    let expected = solve(&Serial, CgVariant::Classic, &a, Diagonal(diagonal.clone()), &b, TIGHT).0.unwrap();
    for variant in NEW {
        let (info, x) = solve(&Serial, variant, &a, Diagonal(diagonal.clone()), &b, TIGHT);
        let info = info.unwrap();
        assert!(info.iterations.abs_diff(expected.iterations) <= 1, "{info:?}, {expected:?}");
        assert!(x.iter().zip(&exact).all(|(x, exact)| (x - exact).abs() < 1e-6), "{variant}");
    }
}

/// Random numbers in -1..1.
pub(in crate::solve) fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut bits = support::random_bits(seed);
    move || (bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// B B^T + shift I with a random B, dense.
pub(super) fn random_spd(n: usize, shift: f64, next: &mut impl FnMut() -> f64) -> Vec<Vec<f64>> {
    let b: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| next()).collect()).collect();
    let dot = |i: usize, j: usize| b[i].iter().zip(&b[j]).map(|(x, y)| x * y).sum::<f64>();
    (0..n).map(|i| (0..n).map(|j| dot(i, j) + if i == j { shift } else { 0.0 }).collect()).collect()
}

/// x = A^-1 b by Cholesky's method.
pub(super) fn dense_solve(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let (mut l, mut x) = (a.to_vec(), b.to_vec());
    for j in 0..n {
        for i in j..n {
            let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if i == j { (l[j][j] - sum).sqrt() } else { (l[i][j] - sum) / l[j][j] };
        }
    }
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
    }
    x
}

pub(in crate::solve) fn dense(a: &[Vec<f64>]) -> CrsMatrix {
    let n = a.len();
    let row_map = (0..=n).map(|row| (row * n) as u64).collect();
    let graph = CrsGraph::new(row_map, (0..n * n).map(|entry| (entry % n) as u32).collect(), n).unwrap();
    CrsMatrix::new(Arc::new(graph), a.concat()).unwrap()
}

#[test]
fn random_systems_have_the_solution_of_a_dense_solve() {
    let mut next = random(11);
    for case in 0..40 {
        let n = 1 + case * 7 % 53;
        let rows = random_spd(n, [0.1, 1.0, 30.0][case % 3], &mut next);
        let b: Vec<f64> = (0..n).map(|_| next()).collect();
        let (a, exact) = (dense(&rows), dense_solve(&rows, &b));
        let diagonal: Vec<f64> = (0..n).map(|i| rows[i][i]).collect();
        let scale = exact.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        for (variant, name) in CgVariant::ALL {
            let plain = solve(&Serial, variant, &a, Identity, &b, TIGHT);
            let preconditioned = solve(&Serial, variant, &a, Diagonal(diagonal.clone()), &b, TIGHT);
            for (info, x) in [plain, preconditioned] {
                let info = info.unwrap_or_else(|error| panic!("case {case}, {name}: {error}"));
                assert!(info.residual <= 1e-12 * info.rhs, "case {case}, {name}: {info:?}");
                let error = x.iter().zip(&exact).map(|(x, y)| (x - y).abs()).fold(0.0f64, f64::max);
                assert!(error <= 1e-7 * scale, "case {case}, {name}: {error:e} of {scale:e}");
            }
        }
    }
}

/// D (2.1, -1) D, and D from 1 to 10^exponent.
fn ill_conditioned(n: usize, exponent: f64) -> (CrsMatrix, Vec<f64>) {
    let scale: Vec<f64> = (0..n).map(|i| 10f64.powf(exponent * i as f64 / n as f64)).collect();
    let mut a = difference(n, 2.1);
    let graph = a.graph().clone();
    let (_, values) = a.parts_mut();
    for row in 0..n {
        for entry in graph.row_range(row) {
            values[entry] *= scale[row] * scale[graph.entries()[entry] as usize];
        }
    }
    (a, scale)
}

/// Refreshes and the last replacement keep the true residual at the target, of conditions 2e6 and, preconditioned by D, 2e13.
#[test]
fn an_ill_conditioned_system_reaches_the_tolerance() {
    let (n, b) = (300, wave(300, 0.77));
    for (exponent, tolerance, by_scale, most) in [(2.5, 1e-8, false, 1.15), (6.0, 1e-10, true, 1.25)] {
        let (a, scale) = ill_conditioned(n, exponent);
        let (m, params) = (if by_scale { scale } else { vec![1.0; n] }, CgParams::new(tolerance, 20_000));
        let run = |variant| {
            let mut work = CgWorkspace::of_variant(&Serial, n, n, variant).unwrap();
            let mut system =
                LinearSystem { operator: &a, preconditioner: &mut Diagonal(m.clone()), comm: &Solo, rhs: &b[..] };
            let mut x = vec![0.0; n];
            let info = cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(())).unwrap();
            let truth = true_residual(&Serial, &system, &x, &mut work).unwrap();
            (info.iterations as f64, truth.residual / (params.tolerance * info.rhs))
        };
        let (classic, (iterations, residual)) = (run(CgVariant::Classic).0, run(CgVariant::SingleReduction));
        assert!(residual <= 1.0 + 1e-9, "{residual} of the target");
        assert!(iterations < most * classic, "{iterations} iterations, classic {classic}");
    }
}

/// A tolerance below the attainable accuracy ends as in classic CG: by the recurrence.
#[test]
fn an_unattainable_tolerance_ends() {
    let n = 200;
    let (a, b) = (difference(n, 2.001), wave(n, 0.77));
    let params = CgParams::new(1e-17, 2000);
    for (variant, name) in CgVariant::ALL {
        let info = solve(&Serial, variant, &a, Identity, &b, params).0;
        assert!(info.is_ok(), "{name}: {info:?}");
    }
}

/// Of 3 iterations x is that of a solve that gives up after 3; of 3000 and 3001, r.r underflows on the way and x stays as good as it
/// gets.
#[test]
fn a_given_number_of_iterations_is_done_whatever_the_residual() {
    for (variant, _) in CgVariant::ALL {
        for (n, diagonal) in [(40, 2.0), (Threads::CHUNK + 11, 2.5)] {
            let (a, b) = (difference(n, diagonal), wave(n, 0.77));
            let few = CgParams { max_iterations: 3, ..TIGHT };
            let (failed, x) = solve(&Serial, variant, &a, Identity, &b, few);
            assert!(matches!(failed, Err(Error::NotConverged { .. })));
            let (info, same) = solve(&Serial, variant, &a, Identity, &b, CgParams::exactly(3));
            let info = info.unwrap();
            assert_eq!((info.iterations, info.reason, same), (3, Reason::Iterations, x), "{variant}, {n}");
            assert!(info.residual > 1e-3 * info.rhs, "{info:?}");
            let (_, exact) = solve(&Serial, variant, &a, Identity, &b, TIGHT);
            for iterations in [3000, 3001] {
                let (info, x) =
                    solve(&Threads::new(2).unwrap(), variant, &a, Identity, &b, CgParams::exactly(iterations));
                let info = info.unwrap();
                assert_eq!((info.iterations, info.reason), (iterations, Reason::Iterations), "{variant}, {n}");
                let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-8;
                assert!(x.iter().zip(&exact).all(near), "{variant}, {n}, {iterations}");
            }
        }
        // b - A x is exactly 0 after one iteration, and nothing is left to iterate on.
        let (info, x) = solve(&Serial, variant, &difference(1, 2.0), Identity, &[8.0], CgParams::exactly(9));
        let info = info.unwrap();
        assert_eq!(
            (info.iterations, info.residual, info.reason, x),
            (1, 0.0, Reason::Iterations, vec![4.0]),
            "{variant}"
        );
        let zero = solve(&Serial, variant, &difference(4, 2.0), Identity, &[0.0; 4], CgParams::exactly(9));
        assert_eq!(zero.0.unwrap().reason, Reason::Zero);
    }
}
