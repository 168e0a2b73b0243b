//! A linear solve in one call.

use super::null_space::{Mean, Projected};
use super::{
    CgParams, CgSteps, CgWorkspace, Identity, LinearSystem, NullSpace, Preconditioner, SolveInfo, Symmetry, cg,
    symmetry, true_residual,
};
use crate::blas::{Collective, agreed};
use crate::comm::Solo;
use crate::solve::krylov::{KrylovWorkspace, Method, rough, symmetry_of};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::Operator;
use crate::{Error, Result};
use std::fmt;

/// Departure from symmetry that is no rounding.
const ASYMMETRIC: f64 = 1e-10;
/// The same of a preconditioner, which may compute in f32.
const ASYMMETRIC_INVERSE: f64 = 1e-4;
/// ||b - A x|| / ||b|| that is no rounding, where a method's own residual is below.
const LOST: f64 = 1e-3;
/// The attainable accuracy of a solve, in units of rounding: ATTAINABLE eps ||A|| ||x||.
const ATTAINABLE: f64 = 100.0;

/// Method, tolerances, preconditioner and ranks of [`solve`].
pub struct Options<'a, S: CgSteps> {
    /// Bound of ||b - A x|| / ||b||; 1e-8 by default.
    pub rtol: f64,
    /// Bound of ||b - A x||: the target is max(rtol ||b||, atol). 0, the default, stands for none.
    pub atol: f64,
    /// Number of iterations after which the solve fails; 10 000 by default.
    pub max_iterations: usize,
    /// Method; CG by default.
    pub method: Method,
    /// Approximate inverse of A; none by default. For CG it is symmetric positive definite.
    pub preconditioner: Option<&'a mut dyn Preconditioner<S>>,
    /// Vectors that A maps to 0; none by default.
    pub null_space: NullSpace,
    /// Ranks that share the unknowns; one by default. With several, the operator is a
    /// [`DistributedOperator`](super::DistributedOperator).
    pub ranks: &'a dyn Collective<S>,
    /// Receives iteration and ||r|| at each convergence check; an error ends the solve, which returns it.
    pub observe: Option<&'a mut dyn FnMut(usize, f64) -> Result<()>>,
}

impl<S: CgSteps> Default for Options<'_, S> {
    fn default() -> Self {
        Options {
            rtol: 1e-8,
            atol: 0.0,
            max_iterations: 10_000,
            method: Method::Cg,
            preconditioner: None,
            null_space: NullSpace::Trivial,
            ranks: &Solo,
            observe: None,
        }
    }
}

impl<S: CgSteps> fmt::Debug for Options<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { rtol, atol, max_iterations, method, null_space, .. } = self;
        let mut shown = f.debug_struct("Options");
        shown.field("rtol", rtol).field("atol", atol).field("max_iterations", max_iterations);
        shown.field("method", method).field("null_space", null_space).finish_non_exhaustive()
    }
}

/// Solves A x = b from the given x, with memory of its own, and computes the residual of x itself by one product more. A loop of many
/// solves by CG saves the allocation with [`cg`](super::cg()).
///
/// ```
/// use minifenl::solve::{Method, Options, solve};
/// use minifenl::sparse::{CrsGraph, CrsMatrix};
/// use minifenl::{Error, space::Threads};
/// use std::sync::Arc;
///
/// // [ 2 -1  0]       [1]
/// // [-1  2 -1]  x  = [0]
/// // [ 0 -1  2]       [1]
/// let (space, b, mut x) = (Threads::new(2)?, vec![1.0, 0.0, 1.0], vec![0.0; 3]);
/// let graph = Arc::new(CrsGraph::new(vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], 3)?);
/// let a = CrsMatrix::new(graph.clone(), vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0])?;
/// solve(&space, &a, &b, &mut x, Options { rtol: 1e-12, ..Options::default() })?;
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-11));
///
/// // CG does not solve systems that are not symmetric, and says so.
/// let a = CrsMatrix::new(graph, vec![2.0, 1.0, -3.0, 2.0, -1.0, -1.0, 2.0])?;
/// let error = solve(&space, &a, &b, &mut x, Options { max_iterations: 9, ..Options::default() }).unwrap_err();
/// assert!(matches!(error, Error::NotSymmetric { .. }), "{error}");
/// let info = solve(&space, &a, &b, &mut x, Options { method: Method::Gmres { restart: 30 }, ..Options::default() })?;
/// assert!(info.iterations <= 3);
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// CG starts again from its x, once, where ||b - A x|| is above 10 times the target and above what rounding of A x explains: it began far from the
/// solution.
///
/// Ranks call it together; agreement on the start costs up to 6 all-reduces of 16 bytes.
///
/// # Errors
/// If it cannot start on one rank, [`Error::Elsewhere`] on the others. Those of [`cg`](super::cg()), the same for the other methods; [`Error::NotSymmetric`] if CG fails and matrix or preconditioner is not symmetric,
/// which two products with each then find; [`Error::Singular`] where the residual of x is neither near the target nor below 1e-3 ||b||,
/// [`Error::NotFinite`] where it is NaN;
/// [`Error::Invalid`] for [`NullSpace::Constants`] on a matrix that does not map constants to 0, which two products find at the start.
pub fn solve<S: CgSteps>(
    space: &S,
    a: &dyn Operator<S>,
    b: &Slice<S, f64>,
    x: &mut Slice<S, f64>,
    options: Options<'_, S>,
) -> Result<SolveInfo> {
    let Options { rtol, atol, max_iterations, method, preconditioner, null_space, ranks, observe } = options;
    let params = CgParams { absolute: atol, ..CgParams::new(rtol, max_iterations) };
    ranks.agree(check(a, ranks.is_alone(), [S::Memory::len(b), S::Memory::len(&*x)], params))?;
    let (mut identity, mut ignore) = (Identity, |_, _| Ok(()));
    let preconditioner: &mut dyn Preconditioner<S> = match preconditioner {
        Some(given) => given,
        None => &mut identity,
    };
    let observe: &mut dyn FnMut(usize, f64) -> Result<()> = match observe {
        Some(given) => given,
        None => &mut ignore,
    };
    let mut system = LinearSystem { operator: a, preconditioner, comm: ranks, rhs: b };
    if null_space == NullSpace::Trivial {
        return by(method, space, (system, true), x, params, observe);
    }
    let n = a.rows();
    let memory = Mean::new(space, n, a.columns(), ranks).and_then(|mean| Ok((mean, space.zeros(n)?)));
    let (mut mean, mut projected): (_, Array<S, f64>) = agreed(ranks, memory)?;
    let rhs = S::Memory::slice_mut(&mut projected);
    mean.check(space, a, rhs)?;
    space.copy(n, b, rhs)?;
    // The first leaves rounding errors of the mean, to which a target may be relative.
    mean.remove(space, n, rhs)?;
    mean.remove(space, n, rhs)?;
    let mut projected = Projected { inner: system.preconditioner, mean: &mut mean };
    (system.preconditioner, system.rhs) = (&mut projected, rhs);
    // The projected preconditioner is symmetric on vectors of mean 0 only.
    let info = by(method, space, (system, false), x, params, observe)?;
    mean.remove(space, n, x)?;
    Ok(info)
}

/// Most iterations between restarts, as [`Method::Gmres`] says.
const LONGEST_RESTART: usize = 4096;

/// Refuses operators with ghosts on one rank, vectors of other lengths than the operator's, and tolerances that are no numbers.
fn check<S: CgSteps>(a: &dyn Operator<S>, is_alone: bool, [b, x]: [usize; 2], params: CgParams) -> Result<()> {
    if is_alone && a.rows() != a.columns() {
        let expected =
            "expected a square matrix on one rank: the graph was made for fewer rows than its elements have nodes";
        return Err(Error::Invalid(format!("solve: A has {} rows and {} columns; {expected}", a.rows(), a.columns())));
    }
    for (array, len) in [("b", b), ("x", x)] {
        // With or without room for ghosts.
        if ![a.rows(), a.columns()].contains(&len) {
            return Err(Error::length("solve", array, len, a.rows()));
        }
    }
    for (name, value) in [("rtol", params.tolerance), ("atol", params.absolute)] {
        if !(0.0..f64::INFINITY).contains(&value) {
            let expected = "expected a finite number that is not negative";
            return Err(Error::Invalid(format!("solve: {name} is {value}; {expected}")));
        }
    }
    if params.tolerance == 0.0 && params.absolute == 0.0 {
        return Err(Error::Invalid("solve: rtol and atol are both 0; expected a positive one".into()));
    }
    Ok(())
}

/// Solves by a method. A preconditioner that is not symmetric is named as the reason of a failure if `is_whole`.
fn by<S: CgSteps>(
    method: Method,
    space: &S,
    (mut system, is_whole): (LinearSystem<'_, S>, bool),
    x: &mut Slice<S, f64>,
    params: CgParams,
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<SolveInfo> {
    let (rows, columns, comm) = (system.operator.rows(), system.operator.columns(), system.comm);
    let (mut info, mut work) = match method {
        Method::Cg => {
            let mut work = agreed(comm, CgWorkspace::new(space, rows, columns))?;
            match cg(space, &mut system, x, params, &mut work, observe) {
                Ok(info) => (info, work),
                Err(error) => return Err(name_asymmetry(space, (&mut system, is_whole), &mut work, error)),
            }
        }
        _ => {
            // A basis beyond the limit of iterations is of no use.
            let most = params.max_iterations.clamp(1, LONGEST_RESTART);
            let method = match method {
                Method::Gmres { restart } => Method::Gmres { restart: restart.clamp(1, most) },
                method => method,
            };
            let mut work = agreed(comm, KrylovWorkspace::new(space, method, rows, columns))?;
            let info = work.solve(space, &mut system, x, params, observe, &mut None)?;
            drop(work);
            (info, agreed(comm, CgWorkspace::new(space, rows, columns))?)
        }
    };
    let mut found = true_residual(space, &system, x, &mut work)?;
    if method == Method::Cg && found.residual > 10.0 * info.target {
        let norm = symmetry(space, system.operator, comm, &mut work, rough_vectors(space, comm, rows))?.norm;
        if found.residual > ATTAINABLE * f64::EPSILON * norm * found.solution {
            // The recurrence has the rounding errors of a start far from the solution; another start has those of x.
            let first = info;
            info = cg(space, &mut system, x, params, &mut work, observe)?;
            info.iterations += first.iterations;
            info.reductions += first.reductions;
            found = true_residual(space, &system, x, &mut work)?;
        }
    }
    info.recomputed = Some(found);
    if found.residual.is_nan() {
        return Err(Error::NotFinite {
            method: "solve",
            quantity: "||b - A x||",
            value: found.residual,
            iteration: info.iterations,
        });
    }
    if found.residual <= (10.0 * info.target).max(LOST * info.rhs) {
        return Ok(info);
    }
    Err(Error::Singular { residual: found.residual / info.rhs })
}

/// Writes vectors 0 and 1 of [`symmetry`], on all ranks or none.
fn rough_vectors<'a, S: CgSteps>(
    space: &'a S,
    comm: &'a dyn Collective<S>,
    n: usize,
) -> impl Fn(usize, &mut Slice<S, f64>) -> Result<()> + Copy + 'a {
    move |which, vector| {
        let rough = agreed(comm, rough(which, n).and_then(|rough| space.upload(&rough)))?;
        space.copy(n, S::Memory::slice(&rough), vector)
    }
}

/// Names the departure of matrix or preconditioner from symmetry as the reason why CG failed, if there is one far above rounding.
fn name_asymmetry<S: CgSteps>(
    space: &S,
    (system, is_whole): (&mut LinearSystem<'_, S>, bool),
    work: &mut CgWorkspace<S>,
    error: Error,
) -> Error {
    if !matches!(error, Error::NotConverged { .. } | Error::Breakdown { .. }) {
        return error;
    }
    let LinearSystem { operator: a, ref mut preconditioner, comm, .. } = *system;
    let n = a.rows();
    match symmetry(space, a, comm, work, rough_vectors(space, comm, n)) {
        Ok(Symmetry { departure, .. }) if departure > ASYMMETRIC => {
            return Error::NotSymmetric { what: "matrix", departure };
        }
        Ok(_) if is_whole => {}
        _ => return error,
    }
    match symmetry_of(space, n, |r, z| preconditioner.apply(space, n, r, z), comm, work, rough_vectors(space, comm, n))
    {
        Ok(Symmetry { departure, .. }) if departure > ASYMMETRIC_INVERSE => {
            Error::NotSymmetric { what: "preconditioner", departure }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Communicator, ranks::on_ranks};
    use crate::space::Serial;
    use crate::sparse::{CrsGraph, CrsMatrix};
    use std::sync::Arc;

    /// -1, 2, -1 in n rows; `corner` at both ends of the diagonal.
    fn line(n: usize, corner: f64) -> CrsMatrix {
        let row = |i: usize| (i.saturating_sub(1)..n.min(i + 2)).map(move |j| (i, j));
        let value = |(i, j)| match i == j {
            true if i == 0 || i + 1 == n => corner,
            true => 2.0,
            false => -1.0,
        };
        let mut row_map = vec![0];
        (0..n).for_each(|i| row_map.push(row_map[i] + row(i).count() as u64));
        let columns = (0..n).flat_map(row).map(|(_, j)| j as u32).collect();
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, columns, n).unwrap()), (0..n).flat_map(row).map(value).collect())
            .unwrap()
    }

    /// CG's own residual loses what rounding of A x leaves at the start.
    #[test]
    fn a_start_far_from_the_solution_costs_no_accuracy() {
        let (a, b) = (line(100, 2.0), vec![1.0; 100]);
        for scale in [1.0, 1e8, 1e12, 1e14] {
            let mut x: Vec<f64> = (0..100).map(|i| scale * (1.7 * f64::from(i)).sin()).collect();
            let info = solve(&Serial, &a, &b, &mut x, Options { rtol: 1e-10, ..Options::default() }).unwrap();
            let error = (0..100).map(|i| (x[i] - 0.5 * ((i + 1) * (100 - i)) as f64).abs()).fold(0.0, f64::max);
            assert!(error < 1e-4 && info.recomputed.unwrap().residual <= 1e-9 * info.rhs, "{scale}: {error} {info:?}");
        }
    }

    #[test]
    fn rounding_of_a_mean_is_no_load() {
        for n in [10, 37, 125] {
            let a = line(n, 1.0);
            for method in [Method::Cg, Method::Gmres { restart: 30 }, Method::BiCgStab, Method::MinRes] {
                for offset in [0.1, 0.3, 1.1, 1e-3, 1e5 / 3.0] {
                    let options = Options { method, null_space: NullSpace::Constants, ..Options::default() };
                    let mut x = vec![1.0; n];
                    solve(&Serial, &a, &vec![offset; n], &mut x, options).unwrap();
                    assert!(x.iter().all(|&x| x == 0.0), "{method:?}, {n} times {offset}");
                }
            }
        }
        let a = line(10, 1.0);
        let options = Options { null_space: NullSpace::Constants, ..Options::default() };
        let b: Vec<f64> = (0..10).map(|i| f64::from(i).sin() + 1e10).collect();
        solve(&Serial, &a, &b, &mut [0.0; 10], options).unwrap();
    }

    #[test]
    fn not_a_number_in_a_matrix_is_named() {
        let mut a = line(10, 2.0);
        a.values_mut()[4] = f64::NAN;
        let end = solve(&Serial, &a, &[0.0; 10], &mut [0.0; 10], Options::default());
        assert!(matches!(end, Err(Error::NotFinite { .. })), "{end:?}");
    }

    /// Rank 1 has too few items of b and returns that error; rank 0 does not wait for its sums.
    #[test]
    fn an_error_of_one_rank_ends_the_solve_on_all() {
        let ends = on_ranks(2, |comm| {
            let comm: &dyn Communicator = comm;
            let graph = Arc::new(CrsGraph::new(vec![0, 1, 2], vec![0, 1], 2).unwrap());
            let a = CrsMatrix::new(graph, vec![1.0; 2]).unwrap();
            let b = vec![1.0; 2 - comm.rank()];
            solve(&Serial, &a, &b, &mut [0.0; 2], Options { ranks: &comm, ..Options::default() }).unwrap_err()
        });
        assert_eq!(ends[0], Error::Elsewhere { rank: 1 });
        assert!(ends[1].to_string().ends_with("`b` has extents [1], expected [2]"), "{}", ends[1]);
    }
}
