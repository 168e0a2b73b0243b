//! The distributed matrix as a Krylov method sees it: product, dot and halo exchange in one application.
//!
//! ```text
//! start messages    p's ghosts are sent
//! q = A p           blocks of rows before the first row that reads a ghost
//! finish messages
//! q = A p           the other rows
//! ```
//! Rows without ghosts come first in the numbering of [`BoxPart`](crate::mesh::BoxPart). For any other numbering the result is the
//! same and less work overlaps the messages.

use super::LinearOperator;
use crate::blas::Reductions;
use crate::comm::{Halo, Staging};
use crate::space::Array;
use crate::sparse::Product;
use crate::{Result, error::check_length};
use std::time::{Duration, Instant};

/// Wall time of an operator's applications.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorTimes {
    /// Number of applications.
    pub calls: u64,
    /// Time of products.
    pub spmv: Duration,
    /// Time to start messages and to wait for them.
    pub halo: Duration,
}

/// A matrix whose columns are owned unknowns and ghosts, with the exchange that refreshes the ghosts.
#[derive(Debug)]
pub struct DistributedOperator<'a, S: Staging, A> {
    matrix: A,
    halo: &'a mut Halo<S>,
    interior: usize,
    times: OperatorTimes,
}

impl<'a, S: Staging, A: Product<S>> DistributedOperator<'a, S, A> {
    /// The first `interior` rows must read no ghost; 0 is always right and overlaps nothing.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when there are fewer rows than that.
    pub fn new(matrix: A, halo: &'a mut Halo<S>, interior: usize) -> Result<Self> {
        let (rows, _) = matrix.extents();
        check_length("DistributedOperator::new", "interior", interior.min(rows), interior)?;
        Ok(DistributedOperator { matrix, halo, interior, times: OperatorTimes::default() })
    }

    /// Times since the operator was created; `None` on a space whose launches return before their kernels are done.
    pub fn times(&self) -> Option<OperatorTimes> {
        S::SYNCHRONOUS.then_some(self.times)
    }
}

impl<S: Staging, A: Product<S> + LinearOperator<S>> LinearOperator<S> for DistributedOperator<'_, S, A> {
    fn rows(&self) -> usize {
        self.matrix.extents().0
    }

    fn columns(&self) -> usize {
        self.matrix.extents().1
    }

    fn apply(&mut self, space: &S, x: &mut Array<S, f64>, y: &mut Array<S, f64>) -> Result<()> {
        let mut clock = Instant::now();
        self.halo.update(space, x)?;
        self.times.halo += std::mem::replace(&mut clock, Instant::now()).elapsed();
        self.matrix.multiply(space, x, y)?;
        self.times.spmv += clock.elapsed();
        self.times.calls += 1;
        Ok(())
    }

    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Array<S, f64>,
        q: &mut Array<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        let rows = self.matrix.extents().0;
        // A block of rows has one partial sum. Split between blocks, the product sums in the order of an undivided one.
        let whole = self.interior / A::ROW_BLOCK * A::ROW_BLOCK;
        let split = if self.interior == rows { rows } else { whole };
        let mut clock = Instant::now();
        let mut elapsed = || std::mem::replace(&mut clock, Instant::now()).elapsed();
        let messages = self.halo.begin(space, p)?;
        self.times.halo += elapsed();
        self.matrix.multiply_dot(space, 0..split, p, q, sums, slot)?;
        self.times.spmv += elapsed();
        messages.finish(space, p)?;
        self.times.halo += elapsed();
        if split < rows {
            self.matrix.multiply_dot(space, split..rows, p, q, sums, slot)?;
        }
        self.times.spmv += elapsed();
        self.times.calls += 1;
        Ok(())
    }

    /// A CUDA graph repeats work of the device only; messages need the host in the middle of an iteration.
    fn is_recordable(&self) -> bool {
        S::IS_RECORDABLE || self.halo.is_empty()
    }

    /// A single launch has no place for an exchange of ghosts.
    fn cg_at_once(
        &mut self,
        space: &S,
        x: &mut Array<S, f64>,
        r: &mut Array<S, f64>,
        sums: &mut Reductions<S>,
    ) -> Result<bool> {
        if self.halo.is_empty() { self.matrix.cg_at_once(space, x, r, sums) } else { Ok(false) }
    }
}
