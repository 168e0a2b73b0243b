//! Systems whose solution is known up to a constant: A 1 = 0 and 1^T A = 0, as of -laplace(u) without a Dirichlet condition.
//!
//! ```text
//! b - mean(b) = A x        solvable whatever b
//! z = P M^-1 r             P v = v - mean(v), so that rounding and M add no constant
//! x - mean(x)              of all solutions the one of mean 0
//! ```

use super::Preconditioner;
use super::krylov::rough;
use crate::blas::{Blas, Collective, Reductions, agreed};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::Operator;
use crate::{Error, Result};

/// Vectors of a matrix that it maps to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullSpace {
    /// None but 0.
    #[default]
    Trivial,
    /// All constant vectors: pure Neumann problems of one dof per node. The solution has mean 0. The mean of b is left out: where it is
    /// not 0, as with a load that the fluxes through the boundary do not balance, x solves A x = b - mean(b).
    Constants,
}

/// Largest ||A 1|| / ||A s|| of an operator that maps constants to 0, for a rough vector s: values that were rounded to f32 leave 6e-8.
const LEFT: f64 = 1e-7;

/// Removes the mean over all ranks.
pub(super) struct Mean<'a, S: Blas> {
    ranks: &'a dyn Collective<S>,
    /// With room for ghosts.
    ones: Array<S, f64>,
    sums: Reductions<S>,
}

impl<'a, S: Blas> Mean<'a, S> {
    pub fn new(space: &S, rows: usize, columns: usize, ranks: &'a dyn Collective<S>) -> Result<Self> {
        let mut ones: Array<S, f64> = space.zeros(rows.max(columns))?;
        space.fill(S::Memory::len(S::Memory::slice(&ones)), 1.0, S::Memory::slice_mut(&mut ones))?;
        Ok(Mean { ranks, ones, sums: Reductions::new(space, rows, 2)? })
    }

    /// Refuses an operator that does not map constants to 0, beyond rounding: with them removed, a solve would find the solution of another
    /// system. Two products; overwrites `y`, one item per row. NaN is left to the solve.
    pub fn check(&mut self, space: &S, a: &dyn Operator<S>, y: &mut Slice<S, f64>) -> Result<()> {
        let n = a.rows();
        a.apply(space, S::Memory::slice_mut(&mut self.ones), y)?;
        space.dot(n, y, y, &mut self.sums, 0)?;
        let s = rough(0, a.columns()).and_then(|rough| space.upload(&rough));
        let mut s: Array<S, f64> = agreed(self.ranks, s)?;
        a.apply(space, S::Memory::slice_mut(&mut s), y)?;
        space.dot(n, y, y, &mut self.sums, 1)?;
        let [constants, others] = self.sums.totals(space, self.ranks)?;
        if constants.sqrt() > LEFT * others.sqrt() {
            return Err(Error::Invalid(format!(
                "solve: null_space is Constants, but A does not map constants to 0: ||A 1|| is {:.1e} of ||A s||, s a rough vector; \
                 expected rows that add up to 0",
                (constants / others).sqrt()
            )));
        }
        Ok(())
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
