//! The levels of smoothed aggregation: made once for a graph, refilled for other values.

use super::coarsening::{Coarsening, Coarser};
use super::{Aggregate, NearNull};
use crate::comm::{Links, Map, agree};
use crate::error::check_length;
use crate::solve::multigrid::{Chebyshev, largest_eigenvalue};
use crate::solve::{Cycle, DistributedMatrix, DistributedOperator, Hierarchy, Level, Smoothing, Transfer};
use crate::space::{Array, MemorySpace};
use crate::sparse::{CrsMatrix, MatrixOf, Operator};
use crate::{Error, Result};

/// Most unknowns of a level that is not coarsened.
const FEW: u64 = 400;
/// Most unknowns of a coarse level, of those of the finer one, in percent; with more, the finer one is the last.
const LARGEST: u64 = 80;

/// A V-cycle over aggregates as a preconditioner, set up from an assembled matrix alone.
///
/// Level 0 reads the operator that it is applied with, in any format; the others keep matrices in CRS.
///
/// ```
/// use minifenl::comm::{Links, Map, Solo};
/// use minifenl::solve::{NearNull, Options, SmoothedAggregation, solve};
/// use minifenl::sparse::{CrsGraph, CrsMatrix};
/// use minifenl::space::Serial;
/// use std::sync::Arc;
///
/// // [-1 2 -1] with fixed ends.
/// const N: usize = 2000;
/// let rows = (0..N).map(|i| (i.max(1) as u32 - 1..(i as u32 + 2).min(N as u32)).collect::<Vec<_>>());
/// let (mut row_map, mut entries) = (vec![0], vec![]);
/// for row in rows {
///     entries.extend(row);
///     row_map.push(entries.len() as u64);
/// }
/// let graph = Arc::new(CrsGraph::new(row_map, entries, N)?);
/// let on_diagonal = |row: usize, column: u32| if row == column as usize { 2.0 } else { -1.0 };
/// let values = (0..N).flat_map(|row| graph.row(row).iter().map(move |&column| on_diagonal(row, column)));
/// let a = CrsMatrix::new(graph.clone(), values.collect())?;
///
/// let (links, map) = (Links::staged(&Solo), Map::new(N as u64, N, vec![])?);
/// let mut levels = SmoothedAggregation::new(&Serial, &links, (&a, &map), NearNull::constants(N, 1)?)?;
/// let (mut x, b) = (vec![0.0; N], vec![1.0; N]);
/// let info = levels.with_cycle(&a, |cycle| {
///     solve(&Serial, &a, &b, &mut x, Options { preconditioner: Some(cycle), ..Options::default() })
/// })?;
/// // Plain CG needs 1000.
/// assert!(info.iterations < 30);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct SmoothedAggregation<S: Aggregate> {
    /// The number of the matrix's graph.
    graph: u64,
    hierarchy: Hierarchy<S>,
    coarsenings: Vec<Coarsening<S>>,
    coarse: Vec<DistributedMatrix<S>>,
}

impl<S: Aggregate> SmoothedAggregation<S> {
    /// Returns bytes that levels of a matrix of finite elements do not exceed, with those of their set-up: a bound from measurements, since
    /// the number of aggregates is known only with the values. Tetrahedra need most for their entries, and elasticity for its rows.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        34 * entries + 420 * rows
    }

    /// Makes the levels of this rank's rows of a matrix, whose columns have the given map. Collective.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where map or near-null vectors have other rows, [`Error::Invalid`](crate::Error::Invalid)
    /// for a diagonal entry that is not positive, for a matrix that is found not to be definite, and for a last level of more than
    /// [`MOST_INVERTED`](crate::solve::MOST_INVERTED) unknowns, [`Error::OutOfMemory`](crate::Error::OutOfMemory); failures of ranks and devices.
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        (matrix, map): (&MatrixOf<S>, &Map),
        near_null: NearNull,
    ) -> Result<Self> {
        let comm = links.comm();
        let taken = check(matrix, map, &near_null).and_then(|()| near_null.taken(space, |values| space.take(values)));
        let (mut near_null, mut map) = (agree(comm, taken)?, map.clone());
        // The ranks that share a level: all, then each alone.
        let (mut on, mut is_whole) = (links, false);
        let (mut coarsenings, mut coarse, mut levels) = (Vec::new(), Vec::<DistributedMatrix<S>>::new(), Vec::new());
        loop {
            let a = coarse.last().map_or(matrix, DistributedMatrix::matrix);
            let (rows, columns) = (a.graph().rows(), a.graph().columns());
            let found = spectrum(space, on, (a, &map));
            let (inverse, largest) = if is_whole { agree(comm, found)? } else { found? };
            let mut all = [rows as u64];
            on.comm().all_sum_u64(&mut all);
            let coarser = if all[0] <= FEW {
                None
            } else {
                let coarser = Coarsening::plan(space, on, (a, &map), &near_null, (&inverse, largest));
                let coarser = agree(comm, coarser)?;
                // Of a matrix that does not fall into aggregates the level is the last.
                let count = coarser.coarse.1.global_count();
                (count > 0 && count * 100 <= all[0] * LARGEST).then_some(coarser)
            };
            let finer = levels.last().and_then(Level::transfer);
            let Some(coarser) = coarser else {
                let level = Level::of_sizes(space, [rows, columns], finer, None);
                // The last of several levels is inverted.
                let smoother = levels.is_empty().then(|| smoother(largest));
                levels.push(with(agree(comm, level)?, inverse, smoother));
                break;
            };
            let Coarser { mut coarsening, transfer, coarse: (mut below, below_map), near_null: vectors, .. } = coarser;
            if coarser.is_whole {
                (on, is_whole) = (links.alone(), true);
            }
            coarsening.refill(space, comm, factors(a, &transfer), &mut below)?;
            let level = Level::of_sizes(space, [rows, columns], finer, Some(transfer));
            levels.push(with(agree(comm, level)?, inverse, Some(smoother(largest))));
            coarse.push(agree(comm, DistributedMatrix::new(space, on, (below, &below_map)))?);
            coarsenings.push(coarsening);
            (map, near_null) = (below_map, vectors);
        }
        let rows = map.owned_count();
        let hierarchy = agree(comm, Hierarchy::new(space, links, levels, rows, Smoothing::FOR_AGGREGATES))?;
        let mut made = SmoothedAggregation { graph: matrix.graph().number(), hierarchy, coarsenings, coarse };
        made.invert_last(space, links)?;
        Ok(made)
    }

    /// Takes other values of the matrix, on the graph that the levels were made for. Aggregates, prolongators and estimates of eigenvalues
    /// stay, coarse matrices are computed anew. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Invalid`](crate::Error::Invalid) for a matrix on another graph.
    pub fn refill(&mut self, space: &S, links: &Links<'_, S>, matrix: &MatrixOf<S>) -> Result<()> {
        let (comm, levels) = (links.comm(), &mut self.hierarchy.levels);
        let is_known = matrix.graph().number() == self.graph;
        let other =
            || Error::Invalid("SmoothedAggregation::refill: expected a matrix on the graph of the levels".into());
        agree(comm, is_known.then_some(()).ok_or_else(other))?;
        for at in 0..levels.len() {
            let (finer, coarser) = self.coarse.split_at_mut(at);
            let a = finer.last().map_or(matrix, DistributedMatrix::matrix);
            agree(comm, space.invert_diagonal(a, S::Memory::slice_mut(&mut levels[at].inverse)))?;
            let (Some(coarse), Some(transfer)) = (coarser.first_mut(), levels[at].transfer()) else { break };
            self.coarsenings[at].refill(space, comm, factors(a, transfer), coarse.matrix_mut())?;
        }
        self.invert_last(space, links)
    }

    /// Inverts the last of several levels.
    fn invert_last(&mut self, space: &S, links: &Links<'_, S>) -> Result<()> {
        let Some(last) = self.coarse.last_mut() else { return Ok(()) };
        self.hierarchy.invert_last(space, links, &last.operator()?)
    }

    /// Calls `work` with the cycle; `finest` multiplies by the matrix of the last refill and is distributed.
    ///
    /// # Errors
    /// [`Error::Shape`] for an operator of other rows; those of `work`.
    pub fn with_cycle<R>(
        &mut self,
        finest: &dyn Operator<S>,
        work: impl FnOnce(&mut Cycle<'_, S>) -> Result<R>,
    ) -> Result<R> {
        if let Some(level) = self.hierarchy.levels.first() {
            check_length("SmoothedAggregation::with_cycle", "finest (rows)", finest.rows(), level.rows())?;
        }
        let coarse = self.coarse.iter_mut().map(DistributedMatrix::operator).collect::<Result<Vec<_>>>()?;
        let coarser = coarse.iter().map(|operator| operator as &dyn Operator<S>);
        work(&mut self.hierarchy.cycle([finest].into_iter().chain(coarser).collect()))
    }

    /// Returns whether every rank has all rows of a level.
    pub fn is_whole(&self, level: usize) -> bool {
        self.hierarchy.is_whole(level)
    }

    /// Returns the levels, finest first, and the matrices of all but the first.
    pub fn levels(&self) -> (&[Level<S>], impl Iterator<Item = &MatrixOf<S>>) {
        (&self.hierarchy.levels, self.coarse.iter().map(DistributedMatrix::matrix))
    }
}

fn check<M: MemorySpace>(matrix: &CrsMatrix<f64, M>, map: &Map, near_null: &NearNull) -> Result<()> {
    const NAME: &str = "SmoothedAggregation::new";
    check_length(NAME, "rows of the matrix", matrix.graph().rows(), map.owned_count())?;
    check_length(NAME, "columns of the matrix", matrix.graph().columns(), map.local_count())?;
    check_length(NAME, "rows of near_null", near_null.rows(), map.owned_count())
}

/// The smoother for a largest eigenvalue of D^-1 A.
fn smoother(largest: f64) -> Chebyshev {
    Chebyshev::below(largest, Smoothing::FOR_AGGREGATES)
}

/// A, P and R.
fn factors<'a, S: Aggregate>(a: &'a MatrixOf<S>, transfer: &'a Transfer<S>) -> [&'a MatrixOf<S>; 3] {
    [a, transfer.prolongation.matrix(), transfer.restriction.matrix()]
}

fn with<S: Aggregate>(mut level: Level<S>, inverse: Array<S, f64>, smoother: Option<Chebyshev>) -> Level<S> {
    (level.inverse, level.smoother) = (inverse, smoother);
    level
}

/// D^-1, and an estimate of the largest eigenvalue of D^-1 A. Collective.
pub(super) fn spectrum<S: Aggregate>(
    space: &S,
    links: &Links<'_, S>,
    (a, map): (&MatrixOf<S>, &Map),
) -> Result<(Array<S, f64>, f64)> {
    let (comm, rows) = (links.comm(), a.graph().rows());
    let first = super::numbering::Numbering::new(comm, rows)?.first();
    let made = || {
        let mut level = Level::of_sizes(space, [rows, a.graph().columns()], None, None)?;
        space.invert_diagonal(a, S::Memory::slice_mut(&mut level.inverse))?;
        space.random_start(first, S::Memory::slice_mut(&mut level.x))?;
        Ok(level)
    };
    let (mut level, mut halo) = (agree(comm, made())?, agree(comm, links.halo(space, map))?);
    let operator = DistributedOperator::new(a, &mut halo, 0)?;
    let largest = largest_eigenvalue(space, links, &operator, &mut level)?;
    Ok((level.inverse, largest))
}
