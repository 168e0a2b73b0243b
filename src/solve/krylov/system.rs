//! The linear system that Krylov methods solve.

use super::Preconditioner;
use crate::blas::{Blas, Collective};
use crate::space::Slice;
use crate::sparse::Operator;
use std::fmt;

/// A x = b, with a preconditioner and the ranks that share the unknowns.
pub struct LinearSystem<'a, S: Blas> {
    /// A; for CG symmetric positive definite.
    pub operator: &'a dyn Operator<S>,
    /// M^-1; for CG symmetric positive definite.
    pub preconditioner: &'a mut dyn Preconditioner<S>,
    /// The ranks.
    pub comm: &'a dyn Collective<S>,
    /// b over the owned unknowns.
    pub rhs: &'a Slice<S, f64>,
}

impl<S: Blas> fmt::Debug for LinearSystem<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearSystem").field("rows", &self.operator.rows()).finish_non_exhaustive()
    }
}
