//! The distributed matrix as a Krylov method sees it: product, dot and halo exchange in one application.
//!
//! ```text
//! start messages    p's ghosts are sent
//! q = A p           blocks of rows before the first row that reads a ghost
//! finish messages
//! q = A p           the other rows
//! ```
//! Rows without ghosts come first in the numbering of [`BoxPart`](crate::mesh::BoxPart). For any other numbering the result is the
//! same and less work overlaps the messages. Where a kernel can exchange ghosts, one product of all rows replaces all four steps.

use super::LinearOperator;
use crate::blas::Reductions;
use crate::comm::{Halo, Staging};
use crate::space::Slice;
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

/// A matrix on owned unknowns and ghosts, with the exchange of its ghosts.
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

    fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
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
        p: &mut Slice<S, f64>,
        q: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        let rows = self.matrix.extents().0;
        // A block of rows has one partial sum. Split between blocks, the product sums in the order of an undivided one.
        let block = self.matrix.row_block();
        let whole = self.interior / block * block;
        let split = if self.interior == rows { rows } else { whole };
        let mut clock = Instant::now();
        let mut elapsed = || std::mem::replace(&mut clock, Instant::now()).elapsed();
        if let Some(exchange) = self.halo.peer()
            && self.matrix.multiply_dot_exchanging(space, self.interior, exchange, p, q, sums, slot)?
        {
            return Ok(());
        }
        let messages = self.halo.begin(space, p)?;
        self.times.halo += elapsed();
        // A kernel adds its sum over the ranks only if it has all rows.
        let split = if sums.ranks.is_some() { 0 } else { split };
        // A rank without rows has a sum, too: 0.
        if split > 0 || rows == 0 {
            self.matrix.multiply_dot(space, 0..split, p, q, sums, slot)?;
        }
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

    /// A CUDA graph repeats work of the device only; some transports need the host in the middle of an iteration.
    fn is_recordable(&self) -> bool {
        self.halo.is_recordable()
    }

    /// A single launch has no place for an exchange of ghosts.
    fn cg_at_once(
        &mut self,
        space: &S,
        x: &mut Slice<S, f64>,
        r: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
    ) -> Result<bool> {
        if self.halo.is_empty() { self.matrix.cg_at_once(space, x, r, sums) } else { Ok(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::testing::Postbox;
    use crate::comm::{Map, Neighbour};
    use crate::space::Threads;
    use crate::sparse::{CrsGraph, CrsMatrix};
    use std::sync::Arc;

    const ROWS: usize = 2 * 4096 + 1234;
    const GHOSTS: usize = 40;

    /// Rows from `interior` on read a ghost: 2 p_i - p_(i+1) + 3 p_ghost.
    fn matrix(interior: usize) -> CrsMatrix {
        let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
        for row in 0..ROWS {
            entries.push(row as u32);
            values.push(2.0);
            if row + 1 < ROWS {
                entries.push(row as u32 + 1);
                values.push(-1.0);
            }
            if row >= interior {
                entries.push((ROWS + row % GHOSTS) as u32);
                values.push(3.0);
            }
            row_map.push(entries.len() as u64);
        }
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, ROWS + GHOSTS).unwrap()), values).unwrap()
    }

    /// Ghosts are NaN until their values arrive, so a row that is computed too early is NaN.
    #[test]
    fn rows_with_ghosts_wait_for_them_wherever_the_product_is_split() {
        let neighbour = |rank, send: &[u32], receive| Neighbour { rank, send: send.to_vec(), receive };
        let (first, last) = (ROWS as u32, (ROWS + GHOSTS) as u32);
        let neighbours = vec![neighbour(0, &[7], first..first + 3), neighbour(4, &[0, 5000], first + 3..last)];
        let (comm, map) = (Postbox::default(), Map::new(1 << 20, ROWS, neighbours).unwrap());
        let owned: Vec<f64> = (0..ROWS).map(|i| (i * 5 % 17) as f64 - 8.0).collect();
        for interior in [0, 1, 4095, 4096, 4097, 8191, 8192, 9000, ROWS - 1, ROWS] {
            let product = |row: usize| {
                let ghost = if row >= interior { 100.0 + (row % GHOSTS) as f64 } else { 0.0 };
                2.0 * owned[row] - owned.get(row + 1).unwrap_or(&0.0) + 3.0 * ghost
            };
            let expected: Vec<f64> = (0..ROWS).map(product).collect();
            let dot: f64 = expected.iter().zip(&owned).map(|(q, p)| q * p).sum();
            let matrix = matrix(interior);
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let mut halo = Halo::new(&space, &comm, &map).unwrap();
                let mut operator = DistributedOperator::new(&matrix, &mut halo, interior).unwrap();
                let mut sums = Reductions::new(&space, ROWS, 3).unwrap();
                sums.partials.fill(f64::NAN);
                // As if kernels added over the ranks: all rows in one product, after the ghosts.
                sums.ranks = (interior % 2 == 1).then(Default::default);
                let fresh = || [&owned[..], &[f64::NAN; GHOSTS]].concat();
                let (mut p, mut q) = (fresh(), vec![f64::NAN; ROWS]);
                operator.apply_dot(&space, &mut p, &mut q, &mut sums, 1).unwrap();
                assert!(q == expected && sums.scalars == [0.0, dot, 0.0], "interior {interior}, {threads} threads");
                assert_eq!(*comm.sent.borrow(), [owned[7], owned[0], owned[5000]]);
                assert_eq!((p[ROWS], p[ROWS + GHOSTS - 1]), (100.0, 139.0));
                let (mut p, mut q) = (fresh(), vec![f64::NAN; ROWS]);
                operator.apply(&space, &mut p, &mut q).unwrap();
                assert!(q == expected, "interior {interior}, {threads} threads");
                assert_eq!(operator.times().unwrap().calls, 2);
            }
        }
    }
}
