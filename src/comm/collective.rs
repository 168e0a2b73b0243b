//! Sums over ranks of scalars that stay in the memory of a space.

use super::{Communicator, Solo, Staging};
use crate::Result;
use crate::blas::{Blas, Collective, Reductions};
use std::ops::Range;

/// A communicator reduces on the host. On one rank it does nothing.
impl<S: Staging> Collective<S> for &dyn Communicator {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        space.change_scalars(sums, slots, &mut |scalars| self.all_sum(scalars))
    }

    fn is_alone(&self) -> bool {
        self.size() == 1
    }

    fn is_recordable(&self) -> bool {
        S::SYNCHRONOUS || self.size() == 1
    }
}

impl<S: Blas> Collective<S> for Solo {
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
