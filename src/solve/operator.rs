//! The distributed matrix as CG sees it: product, dot and halo exchange in one application.
//!
//! ```text
//! start messages    p's ghosts on their way
//! q = A p           blocks of rows before the first row that reads a ghost
//! finish messages
//! q = A p           the other rows
//! ```
//! Rows in which no ghost appears come first in the numbering of [`BoxPart`](crate::mesh::BoxPart); for any other numbering
//! the result is the same and less overlaps.

use super::{LinearOperator, Sums};
use crate::blas::Blas;
use crate::comm::{Communicator, Halo, Solo};
use crate::space::{Array, HostMemory, HostSpace, Item};
use crate::sparse::{CrsMatrix, Spmv};
use crate::{Result, error::check_length};
use std::time::{Duration, Instant};

/// Time that an operator's applications took.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorTimes {
    /// Applications.
    pub calls: u64,
    /// In products.
    pub spmv: Duration,
    /// Starting messages and waiting for them.
    pub halo: Duration,
}

/// A CRS matrix whose columns are owned unknowns and ghosts, with the exchange that refreshes them.
#[derive(Debug)]
pub struct DistributedOperator<'a, V: Item = f64> {
    matrix: &'a CrsMatrix<V>,
    halo: &'a mut Halo,
    interior: usize,
    times: OperatorTimes,
}

impl<'a, V: Item> DistributedOperator<'a, V> {
    /// `interior`: a number of leading rows that read no ghost; 0 is always right and overlaps nothing.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when there are fewer rows than that.
    pub fn new(matrix: &'a CrsMatrix<V>, halo: &'a mut Halo, interior: usize) -> Result<Self> {
        let rows = matrix.graph().rows();
        check_length("DistributedOperator::new", "interior", interior.min(rows), interior)?;
        Ok(DistributedOperator { matrix, halo, interior, times: OperatorTimes::default() })
    }

    /// Times since the operator was made.
    pub fn times(&self) -> OperatorTimes {
        self.times
    }
}

impl<S, V> LinearOperator<S> for DistributedOperator<'_, V>
where
    V: Item + Into<f64>,
    S: HostSpace + Blas + Spmv<V>,
{
    fn rows(&self) -> usize {
        self.matrix.graph().rows()
    }

    fn columns(&self) -> usize {
        self.matrix.graph().columns()
    }

    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Vec<f64>,
        q: &mut Vec<f64>,
        partials: &mut Vec<f64>,
        slot: usize,
        scalars: &mut Vec<f64>,
    ) -> Result<()> {
        let rows = self.matrix.graph().rows();
        let whole = self.interior / S::ROW_BLOCK * S::ROW_BLOCK;
        let split = if self.interior == rows { rows } else { whole };
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed();
        let messages = self.halo.begin(p)?;
        self.times.halo += lap();
        space.spmv_dot(self.matrix, 0..split, p, q, partials, slot, scalars)?;
        self.times.spmv += lap();
        messages.finish(p)?;
        self.times.halo += lap();
        if split < rows {
            space.spmv_dot(self.matrix, split..rows, p, q, partials, slot, scalars)?;
        }
        self.times.spmv += lap();
        self.times.calls += 1;
        Ok(())
    }
}

/// A matrix all of whose columns this process owns is an operator as it stands.
impl<S, V> LinearOperator<S> for &CrsMatrix<V, S::Memory>
where
    V: Item,
    S: Blas + Spmv<V>,
{
    fn rows(&self) -> usize {
        self.graph().rows()
    }

    fn columns(&self) -> usize {
        self.graph().columns()
    }

    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Array<S, f64>,
        q: &mut Array<S, f64>,
        partials: &mut Array<S, f64>,
        slot: usize,
        scalars: &mut Array<S, f64>,
    ) -> Result<()> {
        space.spmv_dot(self, 0..self.graph().rows(), p, q, partials, slot, scalars)
    }
}

/// A communicator sums the scalars of every space whose arrays are the host's.
impl<S: Blas<Memory = HostMemory>> Sums<S> for dyn Communicator + '_ {
    fn sum(&self, _: &S, scalars: &mut Array<S, f64>, slot: usize) -> Result<()> {
        self.all_sum(&mut scalars[slot..=slot]);
        Ok(())
    }
}

/// One process needs no communication, whatever its arrays.
impl<S: Blas> Sums<S> for Solo {
    fn sum(&self, _: &S, _: &mut Array<S, f64>, _: usize) -> Result<()> {
        Ok(())
    }
}
