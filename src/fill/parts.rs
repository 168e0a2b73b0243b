//! What of a system an assembly computes.

use crate::sparse::CrsMatrix;

/// The arrays that an assembly writes.
#[derive(Debug)]
pub enum Parts<'a> {
    /// The matrix and the residual.
    Both(&'a mut CrsMatrix, &'a mut [f64]),
    /// The matrix alone.
    Matrix(&'a mut CrsMatrix),
    /// The residual alone.
    Residual(&'a mut [f64]),
}

/// What an assembly reads of a batch of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Matrices and residuals.
    Both,
    /// Matrices.
    Matrix,
    /// Residuals.
    Residual,
}
