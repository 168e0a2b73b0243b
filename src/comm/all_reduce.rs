//! Sums over ranks of scalars that stay in the memory of a space.

use super::{Communicator, Solo, Staging};
use crate::Result;
use crate::blas::{Blas, Reductions};

/// Sums scalars over all ranks. Every rank gets the same bits.
pub trait AllReduce<S: Blas> {
    /// Replaces `sums.scalars[slot]` by its sum over the ranks; nothing once `sums` is stopped, which it is on all ranks or on none.
    ///
    /// # Errors
    /// A failure of a device or of communication.
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slot: usize) -> Result<()>;

    /// Whether a reduction only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool;
}

/// A communicator reduces on the host. On one rank it does nothing.
impl<S: Staging> AllReduce<S> for dyn Communicator + '_ {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slot: usize) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        space.change_scalar(sums, slot, &mut |scalar| self.all_sum(std::slice::from_mut(scalar)))
    }

    fn is_recordable(&self) -> bool {
        S::IS_RECORDABLE || self.size() == 1
    }
}

impl<S: Blas> AllReduce<S> for Solo {
    fn all_reduce(&self, _: &S, _: &mut Reductions<S>, _: usize) -> Result<()> {
        Ok(())
    }

    fn is_recordable(&self) -> bool {
        true
    }
}
