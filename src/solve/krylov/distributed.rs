//! The distributed operator as a Krylov method sees it: product, dot and halo exchange in one application.
//!
//! ```text
//! start messages    p's ghosts are sent
//! q = A p           blocks of rows before the first row that reads a ghost
//! finish messages
//! q = A p           the other rows
//! ```
//! Rows without ghosts come first in the numbering of [`BoxPart`](crate::mesh::BoxPart). For any other numbering the result is the
//! same and less work overlaps the messages. Where a kernel can exchange ghosts, one product of all rows replaces all four steps; where the
//! operator cannot be divided, it follows the messages.

use crate::blas::Reductions;
use crate::comm::{Halo, Staging};
use crate::space::Slice;
use crate::sparse::{Operator, RowProduct};
use crate::{Result, error::check_length};
use std::cell::{Cell, RefCell};
use std::fmt;
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

/// An operator on this rank's rows, with the exchange that refreshes the ghosts of a vector.
pub struct DistributedOperator<'a, S: Staging> {
    local: &'a dyn Operator<S>,
    halo: RefCell<&'a mut Halo<S>>,
    interior: usize,
    times: Cell<OperatorTimes>,
}

impl<'a, S: Staging> DistributedOperator<'a, S> {
    /// The first `interior` rows must read no ghost; 0 is always right and overlaps nothing.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when there are fewer rows than that.
    pub fn new(local: &'a dyn Operator<S>, halo: &'a mut Halo<S>, interior: usize) -> Result<Self> {
        check_length("DistributedOperator::new", "interior", interior.min(local.rows()), interior)?;
        Ok(DistributedOperator { local, halo: RefCell::new(halo), interior, times: Cell::default() })
    }

    /// Times since the operator was created; `None` on a space whose launches return before their kernels are done.
    pub fn times(&self) -> Option<OperatorTimes> {
        S::SYNCHRONOUS.then_some(self.times.get())
    }

    /// Adds the times of an application.
    fn book(&self, spmv: Duration, halo: Duration) {
        let times = self.times.get();
        self.times.set(OperatorTimes { calls: times.calls + 1, spmv: times.spmv + spmv, halo: times.halo + halo });
    }
}

impl<S: Staging> fmt::Debug for DistributedOperator<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedOperator").field("interior", &self.interior).finish_non_exhaustive()
    }
}

impl<S: Staging> Operator<S> for DistributedOperator<'_, S> {
    fn rows(&self) -> usize {
        self.local.rows()
    }

    fn columns(&self) -> usize {
        self.local.columns()
    }

    fn bytes(&self) -> usize {
        self.local.bytes()
    }

    fn apply(&self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        let mut clock = Instant::now();
        self.halo.borrow_mut().update(space, x)?;
        let halo = std::mem::replace(&mut clock, Instant::now()).elapsed();
        self.local.apply(space, x, y)?;
        self.book(clock.elapsed(), halo);
        Ok(())
    }

    fn apply_dot(
        &self,
        space: &S,
        p: &mut Slice<S, f64>,
        q: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        let (local, rows, mut halo) = (self.local, self.local.rows(), self.halo.borrow_mut());
        let mut clock = Instant::now();
        let mut elapsed = || std::mem::replace(&mut clock, Instant::now()).elapsed();
        if let Some(exchange) = halo.peer().filter(|_| local.takes_exchange()) {
            let (rows, exchange) = (self.interior..rows, Some(exchange));
            return local.apply_dot_rows(space, RowProduct { rows, exchange, x: p, y: q, sums, slot });
        }
        // A block of rows has one partial sum: divided between blocks, the product sums in the order of an undivided one. A kernel
        // whose sum is collective needs all rows.
        let split = match local.row_block() {
            Some(_) if self.interior == rows => rows,
            Some(block) => self.interior / block * block,
            None => 0,
        };
        let split = if sums.collective.is_some() { 0 } else { split };
        let messages = halo.begin(space, p)?;
        let (mut in_halo, mut in_product) = (elapsed(), Duration::ZERO);
        if split > 0 {
            local.apply_dot_rows(space, RowProduct { rows: 0..split, exchange: None, x: p, y: q, sums, slot })?;
            in_product = elapsed();
        }
        messages.finish(space, p)?;
        in_halo += elapsed();
        if split == 0 {
            local.apply_dot(space, p, q, sums, slot)?;
        } else if split < rows {
            local.apply_dot_rows(space, RowProduct { rows: split..rows, exchange: None, x: p, y: q, sums, slot })?;
        }
        self.book(in_product + elapsed(), in_halo);
        Ok(())
    }

    /// A CUDA graph repeats work of the device only; some transports need the host in the middle of an iteration.
    fn is_recordable(&self) -> bool {
        self.local.is_recordable() && self.halo.borrow().is_recordable()
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

    /// A matrix whose products, also those of some rows, take longer than this.
    struct Slow(CrsMatrix, Duration);
    impl Operator<Threads> for Slow {
        fn rows(&self) -> usize {
            ROWS
        }
        fn columns(&self) -> usize {
            ROWS + GHOSTS
        }
        fn bytes(&self) -> usize {
            0
        }
        fn apply(&self, space: &Threads, x: &mut [f64], y: &mut [f64]) -> Result<()> {
            std::thread::sleep(self.1);
            self.0.apply(space, x, y)
        }
        fn row_block(&self) -> Option<usize> {
            Operator::<Threads>::row_block(&self.0)
        }
        fn apply_dot_rows(&self, space: &Threads, product: RowProduct<'_, Threads>) -> Result<()> {
            std::thread::sleep(self.1);
            self.0.apply_dot_rows(space, product)
        }
    }

    /// The wait for messages belongs to the exchange, whether rows are multiplied before it or not, and each product to the products.
    /// A product takes twice as long as the wait.
    #[test]
    fn late_messages_take_time_of_the_exchange() {
        let neighbour = Neighbour { rank: 0, send: vec![7], receive: ROWS as u32..(ROWS + GHOSTS) as u32 };
        let delay = Duration::from_millis(30);
        let comm = Postbox::late(delay);
        let (space, map) = (Threads::new(1).unwrap(), Map::new(1 << 20, ROWS, vec![neighbour]).unwrap());
        // Products of all rows, of those before and behind the messages, and of those before them alone.
        for (interior, products) in [(0, 1), (8192, 2), (ROWS, 1)] {
            let (mut p, mut q, matrix) = (vec![1.0; ROWS + GHOSTS], vec![0.0; ROWS], Slow(matrix(interior), 2 * delay));
            let mut sums = Reductions::new(&space, ROWS, 1).unwrap();
            let mut halo = Halo::new(&space, &comm, &map).unwrap();
            let operator = DistributedOperator::new(&matrix, &mut halo, interior).unwrap();
            operator.apply_dot(&space, &mut p, &mut q, &mut sums, 0).unwrap();
            let [once, twice] = [1, 2].map(|calls| calls * delay);
            assert!(operator.times().unwrap().halo >= once, "{:?}", operator.times());
            assert!(operator.times().unwrap().spmv >= products * 2 * delay, "{:?}", operator.times());
            operator.apply(&space, &mut p, &mut q).unwrap();
            assert!(operator.times().unwrap().halo >= twice, "{:?}", operator.times());
            assert!(operator.times().unwrap().spmv >= (products + 1) * 2 * delay, "{:?}", operator.times());
        }
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
                let operator = DistributedOperator::new(&matrix, &mut halo, interior).unwrap();
                let mut sums = Reductions::new(&space, ROWS, 3).unwrap();
                sums.partials.fill(f64::NAN);
                // As if kernels added over the ranks: all rows in one product, after the ghosts.
                sums.collective = (interior % 2 == 1).then(Default::default);
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
