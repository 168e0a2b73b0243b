//! A CRS matrix of any shape with the exchange of its columns.

use crate::Result;
use crate::comm::{Halo, Links, Map, Staging};
use crate::solve::DistributedOperator;
use crate::space::{ExecutionSpace, Slice};
use crate::sparse::{MatrixOf, Operator, Spmv};

/// This rank's rows of a matrix, whose columns are owned items and ghosts of a map.
#[derive(Debug)]
pub struct DistributedMatrix<S: ExecutionSpace + Staging> {
    matrix: MatrixOf<S>,
    halo: Halo<S>,
}

impl<S: Staging + Spmv> DistributedMatrix<S> {
    /// Joins rows with the exchange of the map of their columns. Collective.
    ///
    /// # Errors
    /// As [`Links::halo`].
    pub fn new(space: &S, links: &Links<'_, S>, (matrix, map): (MatrixOf<S>, &Map)) -> Result<Self> {
        Ok(DistributedMatrix { matrix, halo: links.halo(space, map)? })
    }

    /// Computes y = A x over this rank's rows. Refreshes the ghosts of x, which has room for those of the map. Moves 12 bytes per entry.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; the failure of a device or of communication.
    pub fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        self.halo.update(space, x)?;
        space.spmv(&self.matrix, x, y)
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
        Operator::<S>::bytes(&self.matrix)
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
        self.halo.is_recordable()
    }
}
