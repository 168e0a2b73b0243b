//! Parts of a system that an assembly computes.

use crate::sparse::CrsMatrix;

/// The arrays that an assembly writes.
#[derive(Debug)]
pub enum Parts<'a, M = &'a mut CrsMatrix> {
    /// The matrix and the residual.
    Both(M, &'a mut [f64]),
    /// The matrix alone.
    Matrix(M),
    /// The residual alone.
    Residual(&'a mut [f64]),
}

impl<'a, M> Parts<'a, M> {
    /// The parts that are assembled.
    pub(super) fn wanted(&self) -> Wanted {
        match self {
            Parts::Both(..) => Wanted::Both,
            Parts::Matrix(_) => Wanted::Matrix,
            Parts::Residual(_) => Wanted::Residual,
        }
    }

    /// Replaces the matrix.
    pub(super) fn map<N>(self, f: impl FnOnce(M) -> N) -> Parts<'a, N> {
        match self {
            Parts::Both(matrix, residual) => Parts::Both(f(matrix), residual),
            Parts::Matrix(matrix) => Parts::Matrix(f(matrix)),
            Parts::Residual(residual) => Parts::Residual(residual),
        }
    }
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

impl Wanted {
    /// Whether matrices are read.
    #[inline(always)]
    pub fn has_matrix(self) -> bool {
        self != Wanted::Residual
    }

    /// Whether residuals are read.
    #[inline(always)]
    pub fn has_residual(self) -> bool {
        self != Wanted::Matrix
    }
}
