//! Jacobi's preconditioner and functions as operators, in all variants of CG, against dense solves.

use super::tests::{TIGHT, badly_scaled};
use super::variant_tests::{dense, dense_solve, random, random_spd, solve, wave};
use super::*;
use crate::comm::ranks::on_ranks;
use crate::comm::{Communicator, Halo, Map, Neighbour, Solo};
use crate::solve::{DistributedOperator, Identity, Jacobi, operator_fn, preconditioner_fn};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix};
use std::sync::Arc;

/// Solves from 0 with a function as operator, on one rank.
fn by_functions(
    space: &Threads,
    variant: CgVariant,
    rows: &[Vec<f64>],
    inverse: &[f64],
    b: &[f64],
) -> (SolveInfo, Vec<f64>) {
    let n = b.len();
    let mut products = 0;
    let operator = operator_fn(n, |x, y| {
        products += 1;
        assert_eq!((x.len(), y.len()), (n, n));
        (0..n).for_each(|i| y[i] = rows[i].iter().zip(x).map(|(a, x)| a * x).sum());
    });
    let preconditioner = &mut preconditioner_fn(|r, z| (0..n).for_each(|i| z[i] = inverse[i] * r[i]));
    let mut work = CgWorkspace::of_variant(space, n, n, variant).unwrap();
    let mut system = LinearSystem { operator: &operator, preconditioner, comm: &Solo, rhs: b };
    let mut x = vec![0.0; n];
    let info = cg(space, &mut system, &mut x, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
    assert!(products > info.iterations, "{products} products in {} iterations", info.iterations);
    (info, x)
}

#[test]
fn every_variant_has_the_solution_of_a_dense_solve() {
    let mut next = random(23);
    for case in 0..30 {
        let n = 1 + case * 7 % 53;
        let rows = random_spd(n, [0.1, 1.0, 30.0][case % 3], &mut next);
        let b: Vec<f64> = (0..n).map(|_| next()).collect();
        let (a, exact) = (dense(&rows), dense_solve(&rows, &b));
        let scale = exact.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        let inverse: Vec<f64> = (0..n).map(|i| rows[i][i].recip()).collect();
        for (variant, name) in CgVariant::ALL {
            let jacobi = || Jacobi::new(&Serial, &a.diagonal().unwrap()).unwrap();
            let (info, x) = solve(&Serial, variant, &a, jacobi(), &b, TIGHT);
            // The same numbers by a plain loop: every bit, not only the solution.
            let plain = preconditioner_fn(|r: &[f64], z: &mut [f64]| (0..n).for_each(|i| z[i] = inverse[i] * r[i]));
            assert_eq!(solve(&Serial, variant, &a, plain, &b, TIGHT), (info.clone(), x.clone()), "case {case}, {name}");
            let (_, by_function) = by_functions(&Serial, variant, &rows, &inverse, &b);
            let threads = by_functions(&Threads::new(2).unwrap(), variant, &rows, &inverse, &b).1;
            assert_eq!(by_function, threads, "case {case}, {name}");
            assert!(info.unwrap().residual <= 1e-12 * b.iter().map(|b| b * b).sum::<f64>().sqrt());
            for x in [x, by_function] {
                let error = x.iter().zip(&exact).map(|(x, y)| (x - y).abs()).fold(0.0f64, f64::max);
                assert!(error <= 1e-7 * scale, "case {case}, {name}: {error:e} of {scale:e}");
            }
        }
    }
}

#[test]
fn jacobi_takes_fewer_iterations_on_any_number_of_threads() {
    let n = 2 * Threads::CHUNK + 77;
    let ((a, diagonal), b) = (badly_scaled(n), wave(n, 0.77));
    let near = |(x, y): (&f64, &f64)| (x / y - 1.0).abs() < 1e-15;
    assert!(a.diagonal().unwrap().iter().zip(&diagonal).all(near));
    for (variant, name) in CgVariant::ALL {
        let plain = solve(&Serial, variant, &a, Identity, &b, TIGHT).0.unwrap();
        let jacobi = solve(&Serial, variant, &a, Jacobi::new(&Serial, &diagonal).unwrap(), &b, TIGHT);
        let info = jacobi.0.clone().unwrap();
        assert!(3 * info.iterations < plain.iterations, "{name}: {} of {}", info.iterations, plain.iterations);
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let there = solve(&space, variant, &a, Jacobi::new(&space, &diagonal).unwrap(), &b, TIGHT);
            assert_eq!(there, jacobi, "{name}, {threads} threads");
        }
    }
}

#[test]
fn a_diagonal_of_other_rows_is_refused() {
    let (a, b) = (badly_scaled(5).0, vec![1.0; 5]);
    let short = Jacobi::new(&Serial, &[1.0; 4]).unwrap();
    let error = solve(&Serial, CgVariant::Classic, &a, short, &b, TIGHT).0.unwrap_err().to_string();
    assert_eq!(error, "Jacobi: `diagonal` has extents [4], expected [5]");
    assert!(Jacobi::new(&Serial, &[1.0, 0.0]).unwrap_err().to_string().contains("diagonal[1] is 0e0"));
}

/// A rank's rows of a tridiagonal matrix, with its ghost columns behind the owned ones, and their map.
pub(in crate::solve) fn part(whole: &CrsMatrix, rank: usize, ranks: usize) -> (CrsMatrix, Map, std::ops::Range<usize>) {
    let n = whole.graph().rows();
    let mine = n * rank / ranks..n * (rank + 1) / ranks;
    let owned = mine.len();
    let (mut neighbours, mut ghosts) = (vec![], vec![]);
    for (other, send, ghost) in [(rank.wrapping_sub(1), 0, mine.start.wrapping_sub(1)), (rank + 1, owned - 1, mine.end)]
    {
        if other < ranks {
            let at = (owned + ghosts.len()) as u32;
            neighbours.push(Neighbour { rank: other, send: vec![send as u32], receive: at..at + 1 });
            ghosts.push(ghost);
        }
    }
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for row in mine.clone() {
        let mut found: Vec<(u32, f64)> = whole
            .graph()
            .row_range(row)
            .map(|at| {
                let column = whole.graph().entries()[at] as usize;
                let ghost = ghosts.iter().position(|&ghost| ghost == column).map(|ghost| owned + ghost);
                (ghost.unwrap_or_else(|| column - mine.start) as u32, whole.values()[at])
            })
            .collect();
        found.sort_by_key(|&(column, _)| column);
        entries.extend(found.iter().map(|entry| entry.0));
        values.extend(found.iter().map(|entry| entry.1));
        row_map.push(entries.len() as u64);
    }
    let graph = CrsGraph::new(row_map, entries, owned + ghosts.len()).unwrap();
    (CrsMatrix::new(Arc::new(graph), values).unwrap(), Map::new(n as u64, owned, neighbours).unwrap(), mine)
}

#[test]
fn ranks_give_the_iterations_and_the_solution_of_one() {
    const N: usize = 311;
    let ((a, diagonal), b) = (badly_scaled(N), wave(N, 0.77));
    for (variant, name) in CgVariant::ALL {
        let (alone, x) = solve(&Serial, variant, &a, Jacobi::new(&Serial, &diagonal).unwrap(), &b, TIGHT);
        let (alone, scale) = (alone.unwrap(), x.iter().fold(0.0f64, |max, x| max.max(x.abs())));
        for ranks in [1, 2, 5] {
            on_ranks(ranks, |rank| {
                let comm: &dyn Communicator = rank;
                let (a, map, mine) = part(&a, comm.rank(), ranks);
                let mut halo = Halo::new(&Serial, comm, &map).unwrap();
                let operator = DistributedOperator::new(&a, &mut halo, 0).unwrap();
                let preconditioner = &mut Jacobi::new(&Serial, &a.diagonal().unwrap()).unwrap();
                let rhs = b[mine.clone()].to_vec();
                let (owned, local) = (mine.len(), a.graph().columns());
                let mut work = CgWorkspace::of_variant(&Serial, owned, local, variant).unwrap();
                let mut system = LinearSystem { operator: &operator, preconditioner, comm: &comm, rhs: &rhs[..] };
                let mut found = vec![0.0; local];
                let info = cg(&Serial, &mut system, &mut found, TIGHT, &mut work, &mut |_, _| Ok(())).unwrap();
                assert!(info.iterations.abs_diff(alone.iterations) <= 2, "{name}, {ranks} ranks: {info:?}, {alone:?}");
                let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * scale;
                assert!(found.iter().zip(&x[mine]).all(near), "{name}, rank {} of {ranks}", comm.rank());
            });
        }
    }
}
