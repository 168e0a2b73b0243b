//! Parts of a system that an assembly computes.

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

impl Parts<'_> {
    /// The parts that are assembled.
    pub(super) fn wanted(&self) -> Wanted {
        match self {
            Parts::Both(..) => Wanted::Both,
            Parts::Matrix(_) => Wanted::Matrix,
            Parts::Residual(_) => Wanted::Residual,
        }
    }
}

/// Parts of a batch of elements that an assembly reads.
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
