//! One linear solve.

use crate::errors::exception;
use crate::interrupt::{Interruptible, Signals};
use crate::pattern::{self, Indices};
use crate::threads::Pool;
use minifenl::comm::{Links, Map, Solo};
use minifenl::solve::{Jacobi, Method, NearNull, Options, SmoothedAggregation, SolveInfo, Sweeps, solve as solve_by};
use minifenl::space::Threads;
use minifenl::sparse::CrsMatrix;
use minifenl::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// Solves A x = b from x, with sorted rows of A; returns iterations, residual and norm of b. `points` are those of displacements.
#[pyfunction]
#[pyo3(signature = (offsets, columns, values, b, x, *, rtol, atol, maxiter, method, preconditioner, dofs, points, threads))]
pub fn solve(
    py: Python<'_>,
    offsets: Indices<'_>,
    columns: Indices<'_>,
    values: PyReadonlyArray1<'_, f64>,
    b: PyReadonlyArray1<'_, f64>,
    mut x: PyReadwriteArray1<'_, f64>,
    rtol: f64,
    atol: f64,
    maxiter: usize,
    method: &str,
    preconditioner: &str,
    dofs: usize,
    points: Option<PyReadonlyArray2<'_, f64>>,
    threads: Option<usize>,
) -> PyResult<(usize, f64, f64)> {
    let method = match method {
        "cg" => Method::Cg,
        "gmres" => Method::Gmres { restart: 30 },
        "bicgstab" => Method::BiCgStab,
        "minres" => Method::MinRes,
        other => return Err(exception(unknown("method", other, "cg, gmres, bicgstab or minres"))),
    };
    let threads = Pool::new(threads)?.threads()?;
    let (offsets, columns, values) = (offsets.slice()?, columns.slice()?, values.as_slice()?);
    let (b, x) = (b.as_slice()?, x.as_slice_mut()?);
    let points: Option<&[f64]> = points.as_ref().map(|points| points.as_slice()).transpose()?;
    let solved = py.detach(|| {
        let matrix = || CrsMatrix::new(Arc::new(pattern::graph(offsets, columns)?), values.to_vec());
        let a = matrix().map_err(exception)?;
        let near_null = || match points {
            Some(points) => NearNull::rigid_body_modes(points.as_chunks().0),
            None => NearNull::constants(b.len() / dofs.max(1), dofs),
        };
        let params = (rtol, atol, maxiter, method);
        let signals = Signals::new();
        let operator = Interruptible { matrix: &a, signals: &signals };
        let solved = preconditioned(&threads, (&a, &operator), (b, x), params, preconditioner, near_null);
        signals.outcome(solved)
    });
    let SolveInfo { iterations, residual, rhs, .. } = solved?;
    Ok((iterations, residual, rhs))
}

/// Solves with a preconditioner of the matrix, which `operator` multiplies.
fn preconditioned(
    threads: &Threads,
    (a, operator): (&CrsMatrix, &Interruptible<'_>),
    (b, x): (&[f64], &mut [f64]),
    (rtol, atol, max_iterations, method): (f64, f64, usize, Method),
    preconditioner: &str,
    near_null: impl FnOnce() -> Result<NearNull>,
) -> Result<SolveInfo> {
    let mut by = |preconditioner: Option<&mut dyn minifenl::solve::Preconditioner<Threads>>| {
        solve_by(
            threads,
            operator,
            b,
            x,
            Options { rtol, atol, max_iterations, method, preconditioner, ..Options::default() },
        )
    };
    match preconditioner {
        "none" => by(None),
        "jacobi" => {
            let none = |row: usize| {
                Error::Invalid(format!(
                    "A: row {row} has no entry on its diagonal, which preconditioner=\"jacobi\" needs; \"none\" does not"
                ))
            };
            let entry = |row: usize| a.get(row, row as u32).ok_or_else(|| none(row));
            let diagonal = (0..b.len()).map(entry).collect::<Result<Vec<f64>>>()?;
            by(Some(&mut Jacobi::new(threads, &diagonal)?))
        }
        "gauss-seidel" => by(Some(&mut Sweeps::gauss_seidel(threads, a)?)),
        "ic0" => by(Some(&mut Sweeps::incomplete_cholesky(threads, a)?)),
        "amg" => {
            let (links, map) = (Links::staged(&Solo), Map::new(b.len() as u64, b.len(), vec![])?);
            let mut levels = SmoothedAggregation::new(threads, &links, (a, &map), near_null()?)?;
            levels.with_cycle(a, |cycle| by(Some(cycle)))
        }
        other => Err(unknown("preconditioner", other, "none, jacobi, gauss-seidel, ic0 or amg")),
    }
}

fn unknown(what: &str, found: &str, expected: &str) -> Error {
    Error::Invalid(format!("{what} {found}: expected {expected}"))
}
