//! MINRES against dense solves, on threads and ranks, on singular systems, and where it must fail.

use super::tests::{convection, on_all_ranks, run, tight};
use crate::Error;
use crate::solve::krylov::cg::variant_tests::{dense, random, wave};
use crate::solve::{Jacobi, preconditioner_fn};
use crate::solve::{Method, NullSpace, Options, Preconditioner};
use crate::space::{Serial, Threads};

/// A random symmetric matrix whose diagonal has both signs, by rows.
fn indefinite(n: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut next = random(seed);
    let mut rows = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..i {
            let entry = 0.3 * next();
            (rows[i][j], rows[j][i]) = (entry, entry);
        }
        rows[i][i] = (3.0 + (i % 5) as f64) * if i % 3 == 0 { -1.0 } else { 1.0 };
    }
    rows
}

fn product(rows: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    rows.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

#[test]
fn indefinite_systems_have_the_solution_of_a_dense_solve() {
    for case in 0..20 {
        let n = 1 + case * 7 % 41;
        let rows = indefinite(n, 5 + case as u64);
        let (a, exact) = (dense(&rows), wave(n, 1.3 + case as f64));
        let b = product(&rows, &exact);
        let (info, x) = run(&Serial, &a, &b, tight(Method::MinRes)).unwrap();
        let threads = run(&Threads::new(3).unwrap(), &a, &b, tight(Method::MinRes)).unwrap();
        assert_eq!((&info, &x), (&threads.0, &threads.1), "case {case}");
        // No more steps than unknowns, but for rounding.
        assert!(info.iterations <= n + 3, "case {case}: {info:?}");
        // |a_ii| is positive definite.
        let scales: Vec<f64> = (0..n).map(|i| rows[i][i].abs()).collect();
        let mut jacobi = Jacobi::new(&Serial, &scales).unwrap();
        let (_, y) =
            run(&Serial, &a, &b, Options { preconditioner: Some(&mut jacobi), ..tight(Method::MinRes) }).unwrap();
        for x in [&x, &y] {
            assert!(x.iter().zip(&exact).all(|(x, exact)| (x - exact).abs() < 1e-10), "case {case}");
            let norm = product(&rows, x).iter().zip(&b).map(|(y, b)| (y - b).powi(2)).sum::<f64>().sqrt();
            assert!(norm <= 1.01e-12 * info.rhs, "case {case}: {norm:e}");
        }
    }
}

/// The norm falls in every step, as that of no other method, and is that of b - A x.
#[test]
fn residuals_are_those_of_x_and_fall() {
    let (rows, n) = (indefinite(40, 11), 40);
    let (a, b) = (dense(&rows), wave(n, 0.7));
    let mut before = f64::INFINITY;
    for steps in 1..20 {
        let options = Options { rtol: 0.0, atol: 1e-300, max_iterations: steps, ..tight(Method::MinRes) };
        let Err(Error::NotConverged { residual, iterations, .. }) = run(&Serial, &a, &b, options) else {
            panic!("{steps}")
        };
        assert!(iterations == steps && residual <= before * (1.0 + 1e-12), "{steps}: {residual:e}, {before:e}");
        before = residual;
    }
    let mut seen = vec![];
    let mut x = vec![0.0; n];
    let mut observe = |_, norm: f64| {
        seen.push(norm);
        Ok(())
    };
    let options = Options { observe: Some(&mut observe), ..tight(Method::MinRes) };
    crate::solve::solve(&Serial, &a, &b, &mut x, options).unwrap();
    // In the 19th step the recurrence has the norm that x had.
    assert!((seen[18] - before).abs() <= 1e-10 * before, "{:e}, {before:e}", seen[18]);
}

#[test]
fn singular_systems_with_a_solution_are_solved() {
    let n = 130;
    let mut a = convection(n, 2.0, 0.0);
    let (_, values) = a.parts_mut();
    let last = values.len() - 1;
    (values[0], values[last]) = (1.0, 1.0);
    let smooth: Vec<f64> = (0..n).map(|i| (std::f64::consts::PI * (i as f64 + 0.5) / n as f64).cos()).collect();
    let eigenvalue = 2.0 - 2.0 * (std::f64::consts::PI / n as f64).cos();
    // Without a word of the null space, for a right-hand side of mean 0; and with it, for any.
    for (constant, null_space) in [(0.0, NullSpace::Trivial), (0.3, NullSpace::Constants)] {
        let b: Vec<f64> = smooth.iter().map(|s| eigenvalue * s + constant).collect();
        let x = run(&Serial, &a, &b, Options { null_space, ..tight(Method::MinRes) }).unwrap().1;
        assert!(x.iter().zip(&smooth).all(|(x, s)| (x - s).abs() < 1e-8), "{constant}");
    }
    let b: Vec<f64> = wave(n, 0.77);
    let mean = b.iter().sum::<f64>() / n as f64;
    let b: Vec<f64> = b.iter().map(|b| b - mean).collect();
    run(&Serial, &a, &b, Options { rtol: 1e-9, ..tight(Method::MinRes) }).unwrap();
    // A right-hand side without a solution.
    for (rows, b) in [(vec![vec![1.0; 5]; 5], vec![1.0, 0.0, 0.0, 0.0, 0.0]), (vec![vec![0.0; 2]; 2], vec![1.0, 2.0])] {
        let error = run(&Serial, &dense(&rows), &b, tight(Method::MinRes)).unwrap_err();
        assert!(matches!(error, Error::NotConverged { iterations: 0..100, residual, .. } if residual < 3.0), "{error}");
    }
}

#[test]
fn ranks_give_the_solution_of_one() {
    on_all_ranks(&convection(211, 0.9, 0.0), &wave(211, 0.77), Method::MinRes, NullSpace::Trivial);
}

#[test]
fn a_preconditioner_that_is_not_positive_definite_is_named() {
    let (a, b) = (convection(60, 0.5, 0.0), wave(60, 0.7));
    let mut minus = preconditioner_fn(|r: &[f64], z: &mut [f64]| z.iter_mut().zip(r).for_each(|(z, r)| *z = -r));
    let preconditioner: Option<&mut dyn Preconditioner<Threads>> = Some(&mut minus);
    let error = run(&Serial, &a, &b, Options { preconditioner, ..tight(Method::MinRes) }).unwrap_err();
    assert!(matches!(error, Error::IndefinitePreconditioner { iteration: 0, product } if product < 0.0), "{error}");
    assert!(
        error.is_collective() && error.to_string().contains("expected a symmetric positive definite preconditioner")
    );
    let error = run(&Serial, &a, &b, tight(Method::Cg)).unwrap_err();
    assert!(error.to_string().contains("MINRES symmetric ones"), "{error}");
}
