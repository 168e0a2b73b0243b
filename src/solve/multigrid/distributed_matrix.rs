//! A CRS matrix of any shape with the exchange of its columns.

use super::gather::Gather;
use crate::comm::{Halo, Links, Map, Staging, agree};
use crate::solve::DistributedOperator;
use crate::space::{ExecutionSpace, Slice};
use crate::sparse::{MatrixOf, Operator, Spmv};
use crate::{GlobalOrdinal, LocalOrdinal, Result};

/// This rank's rows of a matrix, whose columns are owned items and ghosts of a map.
#[derive(Debug)]
pub struct DistributedMatrix<S: ExecutionSpace + Staging> {
    matrix: MatrixOf<S>,
    halo: Halo<S>,
    /// Makes the image whole on every rank.
    gather: Option<Gather<S>>,
}

impl<S: Staging + Spmv> DistributedMatrix<S> {
    /// Joins rows with the exchange of the map of their columns. Collective.
    ///
    /// # Errors
    /// As [`Links::halo`].
    pub fn new(space: &S, links: &Links<'_, S>, (matrix, map): (MatrixOf<S>, &Map)) -> Result<Self> {
        Ok(DistributedMatrix { matrix, halo: links.halo(space, map)?, gather: None })
    }

    /// As [`new`](Self::new), for a matrix whose product with x every rank gets as a whole: `whole` items, of which this rank's first row
    /// is item `first`. Items are added where several ranks have rows of one. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::TooLarge`](crate::Error::TooLarge).
    pub fn gathered(
        space: &S,
        links: &Links<'_, S>,
        (matrix, map): (MatrixOf<S>, &Map),
        first: GlobalOrdinal,
        whole: usize,
    ) -> Result<Self> {
        let with_entries = || {
            let row_map = space.download(matrix.graph().row_map())?;
            let rows = row_map.windows(2).zip(0..).filter(|(ends, _)| ends[0] < ends[1]);
            Ok(rows.map(|(_, row)| row).collect::<Vec<LocalOrdinal>>())
        };
        let used = agree(links.comm(), with_entries())?;
        let gather = Gather::new(space, links, [matrix.graph().rows(), whole], first, used)?;
        let made = agree(links.comm(), Self::new(space, links, (matrix, map)))?;
        Ok(DistributedMatrix { gather: Some(gather), ..made })
    }

    /// Computes y = A x over this rank's rows, or all where they are gathered. Refreshes the ghosts of x, which has room for those of the map. Moves 12 bytes per entry.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; the failure of a device or of communication.
    pub fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        self.halo.update(space, x)?;
        match &mut self.gather {
            None => space.spmv(&self.matrix, x, y),
            Some(gather) => {
                space.spmv(&self.matrix, x, gather.own())?;
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
        Operator::<S>::bytes(&self.matrix) + self.gather.as_ref().map_or(0, Gather::bytes)
    }

    /// Returns the matrix.
    pub fn matrix(&self) -> &MatrixOf<S> {
        &self.matrix
    }

    /// Returns the matrix, writable.
    pub(in crate::solve) fn matrix_mut(&mut self) -> &mut MatrixOf<S> {
        &mut self.matrix
    }

    /// Returns whether a product only enqueues work on the space.
    pub fn is_recordable(&self) -> bool {
        self.halo.is_recordable() && self.gather.as_ref().is_none_or(Gather::is_recordable)
    }
}
