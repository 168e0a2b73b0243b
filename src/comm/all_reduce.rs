//! Sums over ranks of scalars that stay in the memory of a space.

use super::{Communicator, Solo, Staging};
use crate::Result;
use crate::blas::{Blas, Reductions};
use std::ops::Range;

/// Sums scalars over all ranks. Every rank gets the same bits.
pub trait AllReduce<S: Blas> {
    /// Replaces each of `sums.scalars[slots]` by its sum over the ranks, all of them in one message; nothing once `sums` is
    /// stopped, which it is on all ranks or on none.
    ///
    /// # Errors
    /// A failure of a device or of communication.
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()>;

    /// Starts [`all_reduce`](Self::all_reduce): the slots are not read or written until [`end`](Self::end), and no other
    /// reduction is started. By default the sum is complete when this returns.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    fn begin(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        self.all_reduce(space, sums, slots)
    }

    /// Completes the reduction that [`begin`](Self::begin) started with the same slots.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    fn end(&self, _space: &S, _sums: &mut Reductions<S>, _slots: Range<usize>) -> Result<()> {
        Ok(())
    }

    /// Whether there is one rank only, so that a solve may use methods that have no place for a reduction.
    fn is_alone(&self) -> bool {
        false
    }

    /// Whether a reduction only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool;

    /// Lets the kernels that compute sums add them over the ranks at once, if the transport can: from now on until
    /// `sums.ranks` is `None` again, every sum is one over the ranks, and [`all_reduce`](Self::all_reduce) does nothing. All
    /// ranks do it together.
    fn attach(&self, sums: &mut Reductions<S>) {
        sums.ranks = None;
    }

    /// Reports a failure that the device noticed after its work was enqueued: a rank that did not answer in time.
    ///
    /// # Errors
    /// That failure.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// A communicator reduces on the host. On one rank it does nothing.
impl<S: Staging> AllReduce<S> for dyn Communicator + '_ {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        space.change_scalars(sums, slots, &mut |scalars| self.all_sum(scalars))
    }

    fn begin(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        match self.size() {
            1 => Ok(()),
            // A device copies its scalars to the host and back for each half.
            _ if !S::IS_RECORDABLE => AllReduce::all_reduce(self, space, sums, slots),
            _ => space.change_scalars(sums, slots, &mut |scalars| self.begin_all_sum(scalars)),
        }
    }

    fn end(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.size() == 1 || !S::IS_RECORDABLE {
            return Ok(());
        }
        space.change_scalars(sums, slots, &mut |scalars| self.end_all_sum(scalars))
    }

    fn is_alone(&self) -> bool {
        self.size() == 1
    }

    fn is_recordable(&self) -> bool {
        S::IS_RECORDABLE || self.size() == 1
    }
}

impl<S: Blas> AllReduce<S> for Solo {
    fn all_reduce(&self, _: &S, _: &mut Reductions<S>, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn is_recordable(&self) -> bool {
        true
    }
}
