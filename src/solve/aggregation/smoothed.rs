//! The levels of smoothed aggregation: made once for a graph, refilled for other values.

use super::coarsening::Coarsening;
use super::setup::{FEW, Setup, factors};
use super::{Aggregate, NearNull};
use crate::comm::{Links, Map, agree};
use crate::error::check_length;
use crate::solve::multigrid::MOST_GATHERED;
use crate::solve::{Cycle, DistributedMatrix, Hierarchy, Level, Smoothing, gathers};
use crate::space::MemorySpace;
use crate::sparse::{CrsMatrix, MatrixOf, Operator};
use crate::{Error, Result};
use std::ops::Range;

/// Aggregates whose unknowns a coarse unknown is coupled with, for the forecast.
const COUPLED: u64 = 40;

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

    /// Returns a bound of further bytes for a matrix of `unknowns` rows on all ranks and so many near-null vectors: those of the dense inverse
    /// and, on ranks that gather a level, of its whole matrix with the messages, and of the coarser levels.
    pub fn coarsest_bytes(unknowns: u64, ranks: usize, vectors: u64) -> u64 {
        let few = unknowns.min(FEW);
        let inverse = Hierarchy::<S>::inverse_bytes([few; 2], 1);
        if ranks == 1 || !gathers(0, ranks) {
            return inverse;
        }
        let rows = unknowns.min(MOST_GATHERED);
        let entries = rows * vectors * COUPLED;
        // Per entry: column and value, place, and the values of all ranks twice. Per row and vector: a number and a message.
        inverse + Self::bytes(rows, entries) + (12 + 8 + 16) * entries + 16 * rows * vectors
    }

    /// Makes the levels of this rank's rows of a symmetric matrix, whose columns have the given map. Entries of a row whose mirrored entry is
    /// not stored are missing in the restriction between ranks. Collective.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where map or near-null vectors have other rows, [`Error::Invalid`](crate::Error::Invalid)
    /// for a diagonal entry that is not positive, for a matrix that is found not to be definite, for a last level of more than 2048
    /// unknowns, and where ranks find other levels, [`Error::Indefinite`](crate::Error::Indefinite) where the last level is not positive definite, [`Error::OutOfMemory`](crate::Error::OutOfMemory); failures of ranks and devices.
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        (matrix, map): (&MatrixOf<S>, &Map),
        near_null: NearNull,
    ) -> Result<Self> {
        let comm = links.comm();
        let taken = check(matrix, map, &near_null).and_then(|()| near_null.taken(space));
        let mut setup = Setup::new(map.clone(), agree(comm, taken)?);
        setup.extend(space, links, matrix)?;
        let Setup { levels, coarsenings, coarse, map, .. } = setup;
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
        let comm = links.comm();
        let is_known = matrix.graph().number() == self.graph;
        let other =
            || Error::Invalid("SmoothedAggregation::refill: expected a matrix on the graph of the levels".into());
        agree(comm, is_known.then_some(()).ok_or_else(other))?;
        let count = self.hierarchy.levels.len();
        let shared = (0..count).take_while(|&at| !self.is_replicated(at)).count();
        self.refill_levels(space, links, matrix, 0..shared)?;
        agree(comm, self.refill_levels(space, links.alone(), matrix, shared..count))?;
        self.invert_last(space, links)
    }

    /// Refills levels that the ranks of `on` share, from the diagonal on.
    fn refill_levels(&mut self, space: &S, on: &Links<'_, S>, matrix: &MatrixOf<S>, which: Range<usize>) -> Result<()> {
        let (comm, levels) = (on.comm(), &mut self.hierarchy.levels);
        for at in which {
            let (finer, coarser) = self.coarse.split_at_mut(at);
            let a = finer.last().map_or(matrix, DistributedMatrix::matrix);
            agree(comm, space.invert_diagonal(a, S::Memory::slice_mut(&mut levels[at].inverse)))?;
            let (Some(coarse), Some(transfer)) = (coarser.first_mut(), levels[at].transfer()) else { break };
            self.coarsenings[at].refill(space, comm, factors(a, transfer), coarse.matrix_mut())?;
        }
        Ok(())
    }

    /// Inverts the last of several levels.
    fn invert_last(&mut self, space: &S, links: &Links<'_, S>) -> Result<()> {
        let Some(last) = self.coarse.last_mut() else { return Ok(()) };
        self.hierarchy.invert_last(space, links, &last.operator()?)
    }

    /// Calls `work` with the cycle; `finest` multiplies by the matrix of the last refill and is distributed.
    ///
    /// # Errors
    /// [`Error::Shape`] for an operator of other rows, before any message: all ranks have to make the same mistake, or none; those of `work`.
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
    pub fn is_replicated(&self, level: usize) -> bool {
        self.hierarchy.is_replicated(level)
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
    check_length(NAME, "rows of near_null", near_null.rows, map.owned_count())
}
