//! The memory of a level: diagonal, vectors, and the way to the next coarser level.

use super::{Chebyshev, DistributedMatrix};
use crate::Result;
use crate::comm::Staging;
use crate::space::Array;
use crate::sparse::{MatrixOf, Operator, Spmv};

/// The two directions between a level and the next coarser one.
#[derive(Debug)]
pub struct Transfer<S: Staging, A = MatrixOf<S>> {
    /// P: rows of this level, columns of the coarser one.
    pub prolongation: DistributedMatrix<S, A>,
    /// R = P^T: rows of the coarser level, columns of this one.
    pub restriction: DistributedMatrix<S, A>,
    /// Entries of both.
    pub entries: usize,
}

/// A level of a hierarchy on this rank: 40 bytes per row, 8 more on coarser levels, and the transfers.
#[derive(Debug)]
pub struct Level<S: Staging, A = MatrixOf<S>> {
    /// D^-1, `[row]`.
    pub inverse: Array<S, f64>,
    pub(super) rows: usize,
    /// The smoother; known once the level is prepared.
    pub(in crate::solve) smoother: Option<Chebyshev>,
    /// Whether A is that of the coarser level on a finer grid: its D^-1 A then has the same largest eigenvalue, but for a few per cent.
    pub is_refined: bool,
    /// To the coarser level; `None` on the last.
    pub(super) coarser: Option<Transfer<S, A>>,
    /// Solution, with room for the operator's ghosts; right-hand side.
    pub(in crate::solve) x: Array<S, f64>,
    pub(super) b: Array<S, f64>,
    /// Last step of the smoother; product, with room for the ghosts of the restriction.
    pub(super) d: Array<S, f64>,
    pub(super) y: Array<S, f64>,
    /// Correction of the finer level, with room for the ghosts of its prolongation.
    pub(super) e: Array<S, f64>,
}

impl<S: Staging + Spmv, A: Operator<S>> Level<S, A> {
    /// Returns the bytes of the vectors of the finest level.
    pub fn bytes(rows: u64) -> u64 {
        40 * rows
    }

    /// Allocates a level for an operator of so many rows and columns; `finer` is the transfer of the next finer level, if there is one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(
        space: &S,
        [rows, columns]: [usize; 2],
        finer: Option<&Transfer<S, A>>,
        coarser: Option<Transfer<S, A>>,
    ) -> Result<Self> {
        let correction = finer.map_or(0, |finer| finer.prolongation.matrix().columns());
        let product = coarser.as_ref().map_or(rows, |coarser| coarser.restriction.matrix().columns());
        Ok(Level {
            inverse: space.zeros(rows)?,
            rows,
            smoother: None,
            is_refined: false,
            coarser,
            x: space.zeros(columns)?,
            b: space.zeros(rows)?,
            d: space.zeros(rows)?,
            y: space.zeros(product)?,
            e: space.zeros(correction)?,
        })
    }

    /// Returns the number of rows.
    pub(in crate::solve) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the transfer to the coarser level.
    pub fn transfer(&self) -> Option<&Transfer<S, A>> {
        self.coarser.as_ref()
    }

    /// Returns the bytes and flops of the level in a cycle, for an operator whose product moves `bytes` and has `entries` entries. On the
    /// last of several levels, whose inverse is small, those of one product.
    pub fn work(&self, bytes: u64, entries: u64) -> (u64, u64) {
        let rows = self.rows as u64;
        let Some(Chebyshev { degree, .. }) = self.smoother else { return (bytes, 2 * entries) };
        let degree = degree as u64;
        // Alone, the smoother starts from 0 and is not repeated.
        let Some(transfer) = &self.coarser else {
            return (
                (degree - 1) * (bytes + 56 * rows) + 32 * rows,
                (degree - 1) * (2 * entries + 6 * rows) + 2 * rows,
            );
        };
        let moved: usize = [&transfer.prolongation, &transfer.restriction].iter().map(|matrix| matrix.bytes()).sum();
        // Products of both smoothers and of the residual; the residual's axpby and the correction's axpy.
        let all = 2 * degree * bytes + ((2 * degree - 1) * 56 + 32 + 24 + 24) * rows + moved as u64;
        (all, 2 * degree * 2 * entries + ((2 * degree - 1) * 6 + 2 + 3 + 2) * rows + 2 * transfer.entries as u64)
    }

    /// Returns whether all exchanges only enqueue work on the space.
    pub(super) fn is_recordable(&self) -> bool {
        let is_recordable =
            |transfer: &Transfer<S, A>| transfer.prolongation.is_recordable() && transfer.restriction.is_recordable();
        self.coarser.as_ref().is_none_or(is_recordable)
    }
}
