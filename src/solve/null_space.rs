//! Systems whose solution is known up to a constant: A 1 = 0 and 1^T A = 0, as of -laplace(u) without a Dirichlet condition.
//!
//! ```text
//! b - mean(b) = A x        solvable whatever b
//! z = P M^-1 r             P v = v - mean(v), so that rounding and M add no constant
//! x - mean(x)              of all solutions the one of mean 0
//! ```

use super::Preconditioner;
use crate::Result;
use crate::blas::{Blas, Collective, Reductions};
use crate::space::{Array, MemorySpace, Slice};

/// Vectors of a matrix that it maps to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullSpace {
    /// None but 0.
    #[default]
    Trivial,
    /// All constant vectors: pure Neumann problems of one dof per node. The solution has mean 0.
    Constants,
}

/// Removes the mean over all ranks.
pub(super) struct Mean<'a, S: Blas> {
    ranks: &'a dyn Collective<S>,
    ones: Array<S, f64>,
    sums: Reductions<S>,
}

impl<'a, S: Blas> Mean<'a, S> {
    pub fn new(space: &S, n: usize, ranks: &'a dyn Collective<S>) -> Result<Self> {
        let mut ones: Array<S, f64> = space.zeros(n)?;
        space.fill(n, 1.0, S::Memory::slice_mut(&mut ones))?;
        Ok(Mean { ranks, ones, sums: Reductions::new(space, n, 2)? })
    }

    /// v -= mean(v) over the first `n` items.
    pub fn remove(&mut self, space: &S, n: usize, v: &mut Slice<S, f64>) -> Result<()> {
        let ones = S::Memory::slice(&self.ones);
        space.dot(n, ones, v, &mut self.sums, 0)?;
        space.dot(n, ones, ones, &mut self.sums, 1)?;
        let [sum, count] = self.sums.totals(space, self.ranks)?;
        space.axpy(n, -sum / count.max(1.0), ones, v)
    }
}

/// z = P M^-1 r.
pub(super) struct Projected<'a, 'b, S: Blas> {
    pub inner: &'b mut dyn Preconditioner<S>,
    pub mean: &'b mut Mean<'a, S>,
}

impl<S: Blas> Preconditioner<S> for Projected<'_, '_, S> {
    /// The host reads the mean.
    fn is_recordable(&self) -> bool {
        false
    }

    fn is_costly(&self) -> bool {
        true
    }

    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        self.inner.apply(space, n, r, z)?;
        self.mean.remove(space, n, z)
    }
}
