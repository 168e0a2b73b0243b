//! Sums over all processes of a run: what solvers need of a communicator, which `comm` implements.

use super::{Blas, Reductions};
use crate::Result;
use std::ops::Range;

/// Sums scalars over all ranks. Every rank gets the same bits.
pub trait Collective<S: Blas> {
    /// Replaces each of `sums.scalars[slots]` by its sum over the ranks, all of them in one message; nothing once `sums` is
    /// stopped, which it is on all ranks or on none.
    ///
    /// # Errors
    /// A failure of a device or of communication.
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()>;

    /// Returns whether there is one rank only, so that a solve may use methods that have no place for a reduction.
    fn is_alone(&self) -> bool {
        false
    }

    /// Returns whether a reduction only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool;

    /// Lets the kernels that compute sums add them over the ranks at once, if the transport can: sets `sums.collective`, until which is
    /// `None` again every sum is one over the ranks. All ranks do it together.
    fn attach(&self, sums: &mut Reductions<S>) {
        sums.collective = None;
    }

    /// Agrees on the result of a step: `Ok` on all ranks or an error on all. Otherwise the remaining ranks would wait for a failed one.
    /// Collective.
    ///
    /// # Errors
    /// That of the lowest rank that failed; [`Error::Elsewhere`](crate::Error::Elsewhere) on the others.
    fn agree(&self, own: Result<()>) -> Result<()>;

    /// Reports a failure that the device noticed after its work was enqueued: a rank that did not answer in time.
    ///
    /// # Errors
    /// That failure.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// [`Collective::agree`] on a step that returns a value.
///
/// # Errors
/// Those of [`Collective::agree`].
pub fn agreed<S: Blas, T>(ranks: &dyn Collective<S>, result: Result<T>) -> Result<T> {
    ranks.agree(result.as_ref().map(|_| ()).map_err(Clone::clone))?;
    result
}

impl<S: Blas> Reductions<S> {
    /// Makes `scalars[slots]` sums over all ranks: by an all-reduce, unless the kernels that computed them did so.
    ///
    /// # Errors
    /// A failure of a device or of communication.
    pub fn complete(&mut self, space: &S, ranks: &dyn Collective<S>, slots: Range<usize>) -> Result<()> {
        if self.collective.is_some() { Ok(()) } else { ranks.all_reduce(space, self, slots) }
    }

    /// Adds the first scalars over the ranks and returns them. The host waits.
    ///
    /// # Errors
    /// As [`Collective::all_reduce`].
    pub fn totals<const N: usize>(&mut self, space: &S, ranks: &dyn Collective<S>) -> Result<[f64; N]> {
        ranks.all_reduce(space, self, 0..N)?;
        let mut totals = [0.0; N];
        space.read(&self.scalars, &mut totals)?;
        Ok(totals)
    }
}
