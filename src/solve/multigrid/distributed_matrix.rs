//! A matrix of any shape with the exchange of its columns.

use super::gather::Gather;
use crate::comm::{Halo, Links, Map, Staging, agree};
use crate::solve::DistributedOperator;
use crate::space::{ExecutionSpace, Slice};
use crate::sparse::{MatrixOf, Operator, Spmv};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// This rank's rows of a matrix, stored or not, whose columns are owned items and ghosts of a map.
#[derive(Debug)]
pub struct DistributedMatrix<S: ExecutionSpace + Staging, A = MatrixOf<S>> {
    matrix: A,
    halo: Halo<S>,
    /// Makes the image whole on every rank.
    gather: Option<Gather<S>>,
}

impl<S: Staging + Spmv, A: Operator<S>> DistributedMatrix<S, A> {
    /// Joins rows with the exchange of the map of their columns. Collective.
    ///
    /// # Errors
    /// As [`Links::halo`].
    pub fn new(space: &S, links: &Links<'_, S>, (matrix, map): (A, &Map)) -> Result<Self> {
        Ok(DistributedMatrix { matrix, halo: links.halo(space, map)?, gather: None })
    }

    /// As [`new`](Self::new), for a product that every rank stores in full, `whole` items. Row i of this rank adds to item `first` + i, also
    /// where other ranks add to it. `used` lists the rows with entries. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Shape`] for rows beyond `whole`, [`Error::OutOfMemory`], [`Error::TooLarge`].
    pub fn gathered(
        space: &S,
        links: &Links<'_, S>,
        (matrix, map): (A, &Map),
        (first, whole): (GlobalOrdinal, usize),
        used: Result<Vec<LocalOrdinal>>,
    ) -> Result<Self> {
        let end = usize::try_from(first).ok().and_then(|first| first.checked_add(matrix.rows())).unwrap_or(usize::MAX);
        let fits = if end <= whole {
            used
        } else {
            Err(Error::length("DistributedMatrix::gathered", "matrix (last row)", end, whole))
        };
        let gather = Gather::new(space, links, [matrix.rows(), whole], first, agree(links.comm(), fits)?)?;
        let made = agree(links.comm(), Self::new(space, links, (matrix, map)))?;
        Ok(DistributedMatrix { gather: Some(gather), ..made })
    }

    /// Computes y = A x over this rank's rows, or all where they are gathered. Refreshes the ghosts of x, which has room for those of the map.
    /// Moves the bytes of the matrix, of a stored one 12 per entry; gathering sends 8 bytes per own row with entries to each other rank and moves 12 more per such row of any rank.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors; the failure of a device or of communication.
    pub fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        self.halo.update(space, x)?;
        match &mut self.gather {
            None => self.matrix.apply(space, x, y),
            Some(gather) => {
                self.matrix.apply(space, x, gather.own())?;
                gather.sum(space, y)
            }
        }
    }

    /// Returns whether every rank gets the whole image.
    pub(super) fn is_gathered(&self) -> bool {
        self.gather.is_some()
    }

    /// Returns the matrix as an operator of a Krylov method.
    ///
    /// # Errors
    /// As [`DistributedOperator::new`].
    pub(in crate::solve) fn operator(&mut self) -> Result<DistributedOperator<'_, S>> {
        DistributedOperator::new(&self.matrix, &mut self.halo, 0)
    }

    /// Returns the bytes that a product moves.
    pub(super) fn bytes(&self) -> usize {
        self.matrix.bytes() + self.gather.as_ref().map_or(0, Gather::bytes)
    }

    /// Returns the matrix.
    pub fn matrix(&self) -> &A {
        &self.matrix
    }

    /// Returns the matrix, writable.
    pub(in crate::solve) fn matrix_mut(&mut self) -> &mut A {
        &mut self.matrix
    }

    /// Returns whether a product only enqueues work on the space.
    pub fn is_recordable(&self) -> bool {
        self.matrix.is_recordable()
            && self.halo.is_recordable()
            && self.gather.as_ref().is_none_or(Gather::is_recordable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;
    use crate::comm::{Communicator, Solo};
    use crate::space::{Serial, Threads};
    use crate::sparse::{CrsGraph, CrsMatrix};
    use std::sync::Arc;

    /// Two rows from item `first` on, of four or three items.
    fn gathered(comm: &dyn Communicator, first: u64, whole: usize) -> Result<()> {
        let graph = CrsGraph::new(vec![0, 1, 2], vec![0, 1], 2)?;
        let matrix = CrsMatrix::new(Arc::new(graph), vec![1.0; 2])?;
        let (links, map) = (Links::<Threads>::staged(comm), Map::new(2, 2, Vec::new())?);
        DistributedMatrix::gathered(&Serial, &links, (matrix, &map), (first, whole), Ok(vec![0, 1])).map(|_| ())
    }

    #[test]
    fn rows_beyond_the_whole_are_refused_on_all_ranks() {
        for first in [2, u64::MAX] {
            let error = gathered(&Solo, first, 3).unwrap_err();
            assert!(matches!(&error, Error::Shape { expected, .. } if expected == &[3]), "{error}");
        }
        let found = on_ranks(2, |comm| gathered(comm, 2 * comm.rank() as u64, 3));
        assert!(matches!(found[0], Err(Error::Elsewhere { rank: 1 })), "{found:?}");
        assert!(matches!(found[1], Err(Error::Shape { .. })), "{found:?}");
        assert!(on_ranks(2, |comm| gathered(comm, 2 * comm.rank() as u64, 4)).iter().all(Result::is_ok));
    }
}
