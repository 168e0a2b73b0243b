//! Staging on host spaces: their memory is what the transport sends.

use super::Staging;
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::space::HostSpace;
use crate::{LocalOrdinal, Result};
use std::ops::Range;

impl<S: HostSpace> Staging for S {
    type SendList = Vec<LocalOrdinal>;

    /// A host's "recording" is the work itself.
    const IS_RECORDABLE: bool = true;

    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<Vec<LocalOrdinal>> {
        Ok(send)
    }

    fn pack(&self, list: &mut Vec<LocalOrdinal>, x: &[f64], message: &mut [f64]) -> Result<()> {
        message.iter_mut().zip(list).for_each(|(value, &mut index)| *value = x[index as usize]);
        Ok(())
    }

    fn unpack(&self, message: &[f64], first: usize, x: &mut [f64]) -> Result<()> {
        x[first..first + message.len()].copy_from_slice(message);
        Ok(())
    }

    fn change_scalars(
        &self,
        sums: &mut Reductions<S>,
        slots: Range<usize>,
        change: &mut dyn FnMut(&mut [f64]),
    ) -> Result<()> {
        // All ranks hold the same state, so either all of them skip the all-reduce or none does.
        if !sums.is_stopped()? {
            check_at_least("change_scalars", "scalars", sums.scalars.len(), slots.end)?;
            change(&mut sums.scalars[slots]);
        }
        Ok(())
    }

    fn vector_len(x: &[f64]) -> usize {
        x.len()
    }
}
