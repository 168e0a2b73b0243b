//! Products y = A x as Krylov methods call them, whatever A is: the contract of storage formats and of operators without a matrix.

use crate::blas::{Blas, Reductions};
use crate::space::{Array, Slice};
use crate::{Error, Result};
use std::ops::Range;

/// Rows of a product y = A x with its vectors, and where x.y goes.
#[derive(Debug)]
pub struct RowProduct<'a, S: Blas> {
    /// The rows.
    pub rows: Range<usize>,
    /// An exchange of the ghosts of x, for the kernels of a device; see [`Operator::takes_exchange`].
    pub exchange: Option<&'a Array<S, u64>>,
    /// The vector that is multiplied.
    pub x: &'a Slice<S, f64>,
    /// The product; other rows are left as they are.
    pub y: &'a mut Slice<S, f64>,
    /// The sums over the rows; once they are stopped, nothing is computed.
    pub sums: &'a mut Reductions<S>,
    /// The scalar of `sums` that x.y goes to.
    pub slot: usize,
}

/// A linear operator whose rows are this process's unknowns and whose columns are its unknowns, then ghosts.
///
/// Five methods describe a product; one that can be divided by rows has [`apply_dot_rows`](Self::apply_dot_rows) instead of
/// [`apply_dot`](Self::apply_dot). The others answer what an operator can do besides; by default nothing. A wrapper that distributes the
/// operator asks for them.
pub trait Operator<S: Blas> {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the number of columns, which is the length of a vector that the operator is applied to.
    fn columns(&self) -> usize;

    /// Returns the bytes that a product has to move, each vector once.
    fn bytes(&self) -> usize;

    /// Computes y = A x. An operator that is distributed refreshes the ghosts of x first; any other leaves x as it is.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors; the failure of a device or of communication.
    fn apply(&self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;

    /// Computes y = A x and `sums.scalars[slot]` = x.y over the rows, in one pass. The ghosts that x itself holds may be stale
    /// afterwards. Does nothing once `sums` is stopped.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn apply_dot(
        &self,
        space: &S,
        x: &mut Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        self.apply_dot_rows(space, RowProduct { rows: 0..self.rows(), exchange: None, x, y, sums, slot })
    }

    /// Returns whether a product only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool {
        true
    }

    /// Returns the number of rows at whose multiples [`apply_dot_rows`](Self::apply_dot_rows) may divide a product; `None`: it may not.
    fn row_block(&self) -> Option<usize> {
        None
    }

    /// Returns whether [`apply_dot_rows`](Self::apply_dot_rows) can exchange the ghosts of x within the product.
    ///
    /// Such a product covers all rows. It sends the items of x that other ranks read, and waits for the ghosts before the rows from
    /// `rows.start` on, which alone read them. All ranks stop at the same product, and a stopped one exchanges nothing.
    fn takes_exchange(&self) -> bool {
        false
    }

    /// Computes y = A x over `rows`, and `sums.scalars[slot]` = x.y over all rows up to `rows.end`, as
    /// [`Spmv::spmv_dot`](super::Spmv::spmv_dot).
    ///
    /// # Errors
    /// As [`apply`](Self::apply); [`Error::Invalid`] for an operator that cannot be divided.
    fn apply_dot_rows(&self, _space: &S, _product: RowProduct<'_, S>) -> Result<()> {
        Err(Error::Invalid("apply_dot_rows: the rows of this operator cannot be divided".into()))
    }
}
