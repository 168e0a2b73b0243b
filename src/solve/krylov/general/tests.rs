//! GMRES and BiCGStab through `solve`: against dense solves, on threads and ranks, and where they must fail.

use crate::comm::ranks::on_ranks;
use crate::comm::{Communicator, Halo, Solo};
use crate::solve::krylov::cg::precondition_tests::part;
use crate::solve::krylov::cg::variant_tests::{dense, random, wave};
use crate::solve::krylov::{KrylovWorkspace, LinearSystem};
use crate::solve::{
    CgParams, DistributedOperator, Identity, Jacobi, Method, NullSpace, Options, Preconditioner, Reason, SolveInfo,
    solve,
};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use std::sync::Arc;

const GENERAL: [Method; 3] = [Method::Gmres { restart: 30 }, Method::Gmres { restart: 4 }, Method::BiCgStab];

/// Convection and diffusion on a line: -u'' + c u' by central differences, times h^2.
pub(super) fn convection(n: usize, diagonal: f64, c: f64) -> CrsMatrix {
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for i in 0..n {
        for j in i.saturating_sub(1)..n.min(i + 2) {
            entries.push(j as u32);
            values.push(if i == j { diagonal } else { -1.0 + c * (j as f64 - i as f64) });
        }
        row_map.push(entries.len() as u64);
    }
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, n).unwrap()), values).unwrap()
}

pub(super) fn run(
    space: &Threads,
    a: &CrsMatrix,
    b: &[f64],
    options: Options<'_, Threads>,
) -> Result<(SolveInfo, Vec<f64>)> {
    let mut x = vec![0.0; a.graph().columns()];
    let mut last = 0;
    let mut observe = |iteration, _| {
        assert_eq!(iteration, last + 1);
        last = iteration;
        Ok(())
    };
    // Options with a shorter life.
    let Options { rtol, atol, max_iterations, method, preconditioner, null_space, .. } = options;
    let preconditioner = preconditioner.map(|given| given as &mut dyn Preconditioner<Threads>);
    let observe: Option<&mut dyn FnMut(usize, f64) -> Result<()>> = Some(&mut observe);
    let options =
        Options { rtol, atol, max_iterations, method, preconditioner, null_space, observe, ..Options::default() };
    let info = solve(space, a, b, &mut x, options)?;
    assert_eq!(info.iterations, last);
    Ok((info, x))
}

pub(super) fn tight<'a>(method: Method) -> Options<'a, Threads> {
    Options { rtol: 1e-12, max_iterations: 2000, method, ..Options::default() }
}

#[test]
fn every_method_solves_random_systems() {
    let mut next = random(5);
    for case in 0..20 {
        let n = 1 + case * 7 % 41;
        let mut entry = |i: usize, j: usize| 0.3 * next() + if i == j { 3.0 + (i % 5) as f64 } else { 0.0 };
        let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
        let (a, exact) = (dense(&rows), wave(n, 1.3 + case as f64));
        let product =
            |x: &[f64]| -> Vec<f64> { rows.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect() };
        let b = product(&exact);
        let diagonal: Vec<f64> = (0..n).map(|i| rows[i][i]).collect();
        for method in GENERAL {
            let (info, x) = run(&Serial, &a, &b, tight(method)).unwrap();
            let threads = run(&Threads::new(3).unwrap(), &a, &b, tight(method)).unwrap();
            assert_eq!((&info, &x), (&threads.0, &threads.1), "{method:?}, case {case}");
            let mut jacobi = Jacobi::new(&Serial, &diagonal).unwrap();
            let options = Options { preconditioner: Some(&mut jacobi), ..tight(method) };
            let (_, y) = run(&Serial, &a, &b, options).unwrap();
            for x in [&x, &y] {
                assert!(x.iter().zip(&exact).all(|(x, exact)| (x - exact).abs() < 1e-11), "{method:?}, case {case}");
                // The true residual, whatever the preconditioner.
                let norm = product(x).iter().zip(&b).map(|(y, b)| (y - b).powi(2)).sum::<f64>().sqrt();
                assert!(norm <= 1.01e-12 * info.rhs, "{method:?}, case {case}: {norm:e}");
            }
        }
    }
}

/// On a cyclic shift GMRES makes no progress before the last of n steps, and a shorter one never does.
#[test]
fn gmres_needs_all_steps_on_a_shift_and_gives_up_without_them() {
    let n = 12;
    let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(j == (i + 1) % n))).collect()).collect();
    let mut b = vec![0.0; n];
    b[3] = 2.0;
    let (info, x) = run(&Serial, &dense(&rows), &b, tight(Method::Gmres { restart: n })).unwrap();
    assert_eq!((info.iterations, x[4]), (n, 2.0));
    for method in [Method::Gmres { restart: n - 1 }, Method::BiCgStab] {
        let error = run(&Serial, &dense(&rows), &b, tight(method)).unwrap_err();
        assert!(matches!(error, Error::NotConverged { residual: 2.0, .. }), "{method:?}: {error}");
    }
}

#[test]
fn fewer_all_reduces_than_modified_gram_schmidt_would_take() {
    let (a, b) = (convection(200, 2.05, 0.4), wave(200, 0.77));
    let info = run(&Serial, &a, &b, tight(Method::Gmres { restart: 500 })).unwrap().0;
    // ||b||, the first and the last residual, two per iteration.
    assert_eq!(info.reductions, 3 + 2 * info.iterations);
    let info = run(&Serial, &a, &b, tight(Method::BiCgStab)).unwrap().0;
    assert!(info.reductions >= 3 + 3 * info.iterations, "{info:?}");
}

/// Blocks of two rows that are coupled more strongly than neighbours are.
#[test]
fn block_jacobi_takes_fewer_iterations_than_jacobi() {
    let n = 80;
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => 2.0 + (i % 7) as f64,
        _ if i / 2 == j / 2 => 1.8 + (i % 5) as f64 - 3.0 * f64::from(u8::from(i < j)),
        2 => -0.3,
        _ => 0.0,
    };
    let a = dense(&(0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect::<Vec<_>>());
    let b = wave(n, 0.77);
    let mut blocks = Jacobi::of_blocks(&Serial, &a, 2).unwrap();
    let mut diagonal = Jacobi::new(&Serial, &a.diagonal().unwrap()).unwrap();
    let by = |jacobi: &mut Jacobi<Threads>| {
        run(&Serial, &a, &b, Options { preconditioner: Some(jacobi), ..tight(GENERAL[0]) }).unwrap()
    };
    let ((with_blocks, x), (plain, y)) = (by(&mut blocks), by(&mut diagonal));
    assert!(2 * with_blocks.iterations < plain.iterations, "{with_blocks:?}, {plain:?}");
    assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-10));
}

#[test]
fn failures_are_typed() {
    let (a, n) = (convection(60, 2.2, 0.5), 60);
    for method in GENERAL {
        let (name, solve) = (format!("{method:?}"), |b: f64, options| run(&Serial, &a, &vec![b; n], options));
        let few = Options { max_iterations: 3, ..tight(method) };
        let error = solve(1.0, few).unwrap_err();
        assert!(
            matches!(error, Error::NotConverged { iterations: 3, residual, .. } if residual > 0.1),
            "{name}: {error}"
        );
        assert!(matches!(solve(f64::NAN, tight(method)), Err(Error::NotFinite { quantity: "||b||", .. })), "{name}");
        // Squares that underflow: of ||b||, with such a tolerance or without, and of the target alone.
        for (b, rtol, atol, underflows) in
            [(1e-200, 1e-12, 0.0, "||b||"), (1e-200, 1e-12, 1e-180, "||b||"), (1e-140, 1e-15, 0.0, "tolerance ||b||")]
        {
            let found = solve(b, Options { rtol, atol, ..tight(method) });
            assert!(
                matches!(found, Err(Error::Underflow { quantity, .. }) if quantity == underflows),
                "{name}: {found:?}"
            );
        }
        let (zero, x) = solve(0.0, tight(method)).unwrap();
        assert_eq!((zero.reason, zero.iterations, x), (Reason::Zero, 0, vec![0.0; n]), "{name}");
        let info = solve(1.0, Options { rtol: 0.0, atol: 1e-6, ..tight(method) }).unwrap().0;
        assert!(info.reason == Reason::AbsoluteTolerance && info.residual <= 1e-6, "{name}: {info:?}");
        assert_eq!(solve(1.0, tight(method)).unwrap().0.reason, Reason::RelativeTolerance, "{name}");
        let nan = run(&Serial, &convection(n, f64::NAN, 0.5), &vec![1.0; n], tight(method));
        assert!(matches!(nan, Err(Error::NotFinite { .. })), "{name}");
        // A singular matrix and a right-hand side outside its range.
        let flat = dense(&vec![vec![1.0; 5]; 5]);
        let error = run(&Serial, &flat, &[1.0, 0.0, 0.0, 0.0, 0.0], tight(method)).unwrap_err();
        assert!(matches!(error, Error::NotConverged { iterations: 0..100, .. }), "{name}: {error}");
    }
    let shape = solve(&Serial, &a, &[1.0; 60], &mut [0.0; 61], tight(Method::Cg)).unwrap_err();
    assert_eq!(shape.to_string(), "solve: `x` has extents [61], expected [60]");
    let rtol = solve(&Serial, &a, &[1.0; 60], &mut [0.0; 60], Options { rtol: -1.0, ..tight(Method::Cg) });
    assert!(rtol.unwrap_err().to_string().starts_with("solve: rtol is -1"));
    let both = solve(&Serial, &a, &[1.0; 60], &mut [0.0; 60], Options { rtol: 0.0, ..tight(Method::Cg) });
    assert_eq!(both.unwrap_err().to_string(), "solve: rtol and atol are both 0; expected a positive one");
}

#[test]
fn cg_names_the_departure_from_symmetry_and_only_that() {
    let few = || Options { max_iterations: 8, ..tight(Method::Cg) };
    let error = run(&Serial, &convection(90, 2.1, 0.6), &wave(90, 0.7), few()).unwrap_err();
    assert!(matches!(error, Error::NotSymmetric { what: "matrix", departure } if departure > 0.01), "{error}");
    assert!(error.to_string().contains("GMRES") && error.is_collective());
    let error = run(&Serial, &convection(90, 2.0, 0.0), &wave(90, 0.7), few()).unwrap_err();
    assert!(matches!(error, Error::NotConverged { method: "CG", .. }), "{error}");
    let error = run(&Serial, &convection(90, -2.0, 0.0), &wave(90, 0.7), few()).unwrap_err();
    assert!(matches!(error, Error::Breakdown { .. }) && error.to_string().contains("GMRES takes any"), "{error}");
}

/// Solves on ranks; x is that of one rank, and so is the number of iterations but for rounding.
pub(super) fn on_all_ranks(a: &CrsMatrix, b: &[f64], method: Method, null_space: NullSpace) {
    let (alone, x) = run(&Serial, a, b, Options { null_space, ..tight(method) }).unwrap();
    let scale = x.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    for ranks in [1, 2, 5] {
        on_ranks(ranks, |rank| {
            let comm: &dyn Communicator = rank;
            let (local, map, mine) = part(a, comm.rank(), ranks);
            let mut halo = Halo::new(&Serial, comm, &map).unwrap();
            let operator = DistributedOperator::new(&local, &mut halo, 0).unwrap();
            let (mut found, rhs) = (vec![0.0; local.graph().columns()], &b[mine.clone()]);
            let options = Options { ranks: &comm, null_space, ..tight(method) };
            let info = solve(&Serial, &operator, rhs, &mut found, options).unwrap();
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * scale;
            assert!(found.iter().zip(&x[mine]).all(near), "{method:?}, rank {} of {ranks}", comm.rank());
            // Those of BiCGStab depend on rounding.
            let margin = if method == Method::BiCgStab { 3 + alone.iterations / 10 } else { 3 };
            let difference = info.iterations.abs_diff(alone.iterations);
            assert!(difference <= margin, "{method:?}, {ranks} ranks: {info:?}, {alone:?}");
        });
    }
}

#[test]
fn ranks_give_the_solution_of_one() {
    let (a, b) = (convection(211, 2.5, 0.5), wave(211, 0.77));
    for method in GENERAL {
        on_all_ranks(&a, &b, method, NullSpace::Trivial);
    }
}

/// -u'' with u' = 0 at both ends: the solution has mean 0, and the mean of b is of no account.
#[test]
fn a_pure_neumann_problem_has_the_solution_of_mean_zero() {
    let n = 130;
    let mut a = convection(n, 2.0, 0.0);
    let (_, values) = a.parts_mut();
    let last = values.len() - 1;
    (values[0], values[last]) = (1.0, 1.0);
    let smooth: Vec<f64> = (0..n).map(|i| (std::f64::consts::PI * (i as f64 + 0.5) / n as f64).cos()).collect();
    // The cosine is an eigenvector.
    let eigenvalue = 2.0 - 2.0 * (std::f64::consts::PI / n as f64).cos();
    for method in [Method::Cg, Method::Gmres { restart: 200 }, Method::BiCgStab] {
        for constant in [0.0, 0.3] {
            let b: Vec<f64> = smooth.iter().map(|s| eigenvalue * s + constant).collect();
            let options = Options { null_space: NullSpace::Constants, ..tight(method) };
            let x = run(&Serial, &a, &b, options).unwrap().1;
            assert!(x.iter().zip(&smooth).all(|(x, s)| (x - s).abs() < 1e-8), "{method:?}, {constant}");
            assert!(x.iter().sum::<f64>().abs() < 1e-10);
        }
        on_all_ranks(&a, &wave(n, 0.77), method, NullSpace::Constants);
    }
    let b = vec![0.3; n];
    assert!(run(&Serial, &a, &b, tight(Method::Cg)).is_err(), "without the null space there is no solution");
}

/// On one rank and on several. Departures as of values rounded to f32 are no fault.
#[test]
fn a_null_space_that_is_none_is_refused() {
    let n = 130;
    let laplace = |ends: f64, reaction: f64| {
        let mut a = convection(n, 2.0 + reaction, 0.0);
        let (_, values) = a.parts_mut();
        let last = values.len() - 1;
        (values[0], values[last]) = (ends, 1.0);
        a
    };
    for method in [Method::Cg, Method::Gmres { restart: 200 }, Method::BiCgStab, Method::MinRes] {
        let constants = || Options { null_space: NullSpace::Constants, ..tight(method) };
        // One end is fixed; a reaction term, which is small beside the differences.
        for (ends, reaction) in [(2.0, 0.0), (1.0, 1e-6)] {
            let error = run(&Serial, &laplace(ends, reaction), &wave(n, 0.7), constants()).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("solve: null_space is Constants, but A does not map constants to 0"), "{text}");
        }
        let mut rounded = laplace(1.0, 0.0);
        rounded.parts_mut().1.iter_mut().zip(0..).for_each(|(value, k)| *value *= 1.0 + 6e-8 * f64::from(k).sin());
        let refused = run(&Serial, &rounded, &wave(n, 0.7), constants()).err().map(|error| error.to_string());
        assert!(!refused.is_some_and(|text| text.contains("null_space")), "{method:?}");
    }
    let a = laplace(2.0, 0.0);
    on_ranks(3, |rank| {
        let comm: &dyn Communicator = rank;
        let (local, map, mine) = part(&a, comm.rank(), 3);
        let mut halo = Halo::new(&Serial, comm, &map).unwrap();
        let operator = DistributedOperator::new(&local, &mut halo, 0).unwrap();
        let options = Options { ranks: &comm, null_space: NullSpace::Constants, ..tight(Method::Cg) };
        let mut x = vec![0.0; local.graph().columns()];
        // Also on ranks all of whose rows add up to 0.
        assert!(solve(&Serial, &operator, &wave(n, 0.7)[mine], &mut x, options).is_err());
    });
}

/// A solve that stops keeps its numbers, and a workspace serves its own method alone.
#[test]
fn a_stopped_solve_keeps_its_numbers() {
    let (a, n) = (convection(60, 2.0, 0.9), 60);
    for method in GENERAL {
        let mut workspace = KrylovWorkspace::new(&Serial, method, n, n).unwrap();
        let (b, mut x) = (wave(n, 0.7), vec![0.0; n]);
        let mut solve = |params, b: &[f64], x: &mut [f64]| {
            let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: b };
            let mut stopped = None;
            let solved = workspace.solve(&Serial, &mut system, x, params, &mut |_, _| Ok(()), &mut stopped);
            (solved, stopped)
        };
        let (solved, stopped) = solve(CgParams::new(1e-12, 2), &b, &mut x);
        let stopped = stopped.unwrap();
        assert!(matches!(solved, Err(Error::NotConverged { iterations: 2, .. })), "{method:?}: {solved:?}");
        assert!(stopped.iterations == 2 && stopped.reductions >= 6 && stopped.residual > stopped.target, "{stopped:?}");
        assert!((stopped.rhs - b.iter().map(|b| b * b).sum::<f64>().sqrt()).abs() < 1e-12);
        let (solved, stopped) = solve(CgParams::new(1e-12, 1000), &b, &mut x);
        assert!(solved.is_ok() && stopped.is_none());
        let (solved, _) = solve(CgParams::new(1e-12, 9), &vec![f64::NAN; n], &mut x);
        assert!(matches!(solved, Err(Error::NotFinite { quantity: "||b||", .. })), "{solved:?}");
    }
    let mut small = KrylovWorkspace::new(&Serial, Method::Cg, n, n).unwrap();
    let (b, mut x) = (wave(n, 0.7), vec![0.0; n]);
    let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
    assert!(matches!(
        small.solve(&Serial, &mut system, &mut x, CgParams::new(1e-12, 2), &mut |_, _| Ok(()), &mut None),
        Err(Error::Invalid(_))
    ));
}

/// Powers of two scale each number of a method exactly: no bound is absolute.
#[test]
fn scaled_systems_take_the_same_iterations_to_scaled_solutions() {
    let n = 60;
    for method in GENERAL.into_iter().chain([Method::Cg, Method::MinRes]) {
        let is_symmetric = matches!(method, Method::Cg | Method::MinRes);
        let (a, b) = (convection(n, 2.3, if is_symmetric { 0.0 } else { 0.4 }), wave(n, 0.77));
        let solved = |of_matrix: f64, of_rhs: f64, has_jacobi: bool| {
            let values = a.values().iter().map(|value| of_matrix * value).collect();
            let scaled = CrsMatrix::new(a.graph().clone(), values).unwrap();
            let rhs: Vec<f64> = b.iter().map(|value| of_rhs * value).collect();
            let mut jacobi = Jacobi::new(&Serial, &vec![2.3 * of_matrix; n]).unwrap();
            let preconditioner = has_jacobi.then_some(&mut jacobi as _);
            run(&Serial, &scaled, &rhs, Options { preconditioner, ..tight(method) }).unwrap()
        };
        // Jacobi takes the scale of the matrix from what the method sees.
        for has_jacobi in [true, false] {
            let (info, x) = solved(1.0, 1.0, has_jacobi);
            for [of_matrix, of_rhs] in
                [[-160, -100], [160, 100], [-100, 160]].map(|powers| powers.map(|power| 2f64.powi(power)))
            {
                let (other, y) = solved(of_matrix, of_rhs, has_jacobi);
                assert_eq!((other.iterations, other.residual), (info.iterations, of_rhs * info.residual), "{method:?}");
                assert!(y.iter().zip(&x).all(|(y, x)| *y == of_rhs / of_matrix * x), "{method:?}");
            }
        }
    }
}
