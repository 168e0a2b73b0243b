//! The set-up of smoothed aggregation: levels added one by one, finest first.

use super::coarsening::{Coarsening, Coarser};
use super::{Aggregate, NearNull};
use crate::Result;
use crate::comm::{Links, Map, agree, same};
use crate::solve::multigrid::{Chebyshev, largest_eigenvalue};
use crate::solve::numbering::Numbering;
use crate::solve::{DistributedMatrix, DistributedOperator, Level, Smoothing, Transfer};
use crate::space::{Array, MemorySpace};
use crate::sparse::MatrixOf;

/// Most unknowns of a level that is not coarsened.
pub(super) const FEW: u64 = 400;
/// Most unknowns of a coarse level, of those of the finer one, in percent; with more, the finer one is the last.
const LARGEST: u64 = 80;

/// The levels so far.
pub(super) struct Setup<S: Aggregate> {
    pub levels: Vec<Level<S>>,
    pub coarsenings: Vec<Coarsening<S>>,
    pub coarse: Vec<DistributedMatrix<S>>,
    /// Columns of the last matrix, and its near-null vectors.
    pub map: Map,
    near_null: NearNull<S::Memory>,
}

impl<S: Aggregate> Setup<S> {
    /// No level yet, of a matrix with this map and these vectors.
    pub fn new(map: Map, near_null: NearNull<S::Memory>) -> Self {
        Setup { levels: Vec::new(), coarsenings: Vec::new(), coarse: Vec::new(), map, near_null }
    }

    /// Adds all levels: those that the ranks of `on` share, then the replicated ones. Collective on these.
    pub fn extend(&mut self, space: &S, on: &Links<'_, S>, matrix: &MatrixOf<S>) -> Result<()> {
        let comm = on.comm();
        loop {
            let a = self.coarse.last().map_or(matrix, DistributedMatrix::matrix);
            let (rows, columns) = (a.graph().rows(), a.graph().columns());
            let (inverse, largest) = spectrum(space, on, (a, &self.map))?;
            let mut all = [rows as u64];
            comm.all_sum_u64(&mut all);
            let coarser = if all[0] <= FEW {
                None
            } else {
                let coarser = Coarsening::plan(space, on, (a, &self.map), &self.near_null, (&inverse, largest));
                let coarser = agree(comm, coarser)?;
                // Of a matrix that does not fall into aggregates the level is the last.
                let count = coarser.coarse.1.global_count();
                (count > 0 && count * 100 <= all[0] * LARGEST).then_some(coarser)
            };
            let finer = self.levels.last().and_then(Level::transfer);
            let Some(coarser) = coarser else {
                let level = Level::new(space, [rows, columns], finer, None);
                // The last of several levels is inverted.
                let smoother = self.levels.is_empty().then(|| smoother(largest));
                self.levels.push(with(agree(comm, level)?, inverse, smoother));
                return Ok(());
            };
            let Coarser { mut coarsening, transfer, coarse: (mut below, map), near_null } = coarser;
            let is_replicated = coarsening.gathered.is_some();
            coarsening.refill(space, comm, factors(a, &transfer), &mut below)?;
            let level = Level::new(space, [rows, columns], finer, Some(transfer));
            self.levels.push(with(agree(comm, level)?, inverse, Some(smoother(largest))));
            let sharing = if is_replicated { on.alone() } else { on };
            self.coarse.push(agree(comm, DistributedMatrix::new(space, sharing, (below, &map)))?);
            self.coarsenings.push(coarsening);
            (self.map, self.near_null) = (map, near_null);
            if is_replicated {
                // Each rank makes the smaller levels without messages; all have to find the same.
                let shared = self.levels.len();
                agree(comm, self.extend(space, on.alone(), matrix))?;
                let rows: Vec<usize> = self.levels[shared..].iter().map(Level::rows).collect();
                return same(comm, &[("rows of the small levels of aggregates".into(), format!("{rows:?}"))]);
            }
        }
    }
}

/// The smoother for a largest eigenvalue of D^-1 A.
fn smoother(largest: f64) -> Chebyshev {
    Chebyshev::below(largest, Smoothing::FOR_AGGREGATES)
}

/// A, P and R.
pub(super) fn factors<'a, S: Aggregate>(a: &'a MatrixOf<S>, transfer: &'a Transfer<S>) -> [&'a MatrixOf<S>; 3] {
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
    let first = Numbering::new(comm, rows)?.first();
    let made = || {
        let mut level: Level<S> = Level::new(space, [rows, a.graph().columns()], None, None)?;
        space.invert_diagonal(a, S::Memory::slice_mut(&mut level.inverse))?;
        space.random_start(first, S::Memory::slice_mut(&mut level.x))?;
        Ok(level)
    };
    let (mut level, mut halo) = (agree(comm, made())?, agree(comm, links.halo(space, map))?);
    let operator = DistributedOperator::new(a, &mut halo, 0)?;
    let largest = largest_eigenvalue(space, links, &operator, &mut level)?;
    Ok((level.inverse, largest))
}
