//! Memory that is mapped ahead of the arrays that use it.
//!
//! The first array in a byte of memory waits for the driver to map it, about 1 ms per GB on an H200.

use super::Cuda;
use crate::space::ExecutionSpace;
use crate::{Error, Result};

impl Cuda {
    /// Maps memory for arrays of `bytes` in total ahead of their allocation. If it cannot be had, arrays map theirs
    /// one by one, as they do beyond the sum. Begins a new measurement of the peak. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        // The pool keeps the memory of freed arrays.
        match self.unfilled::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX)) {
            Ok(all) => drop(all),
            Err(Error::OutOfMemory { .. }) => {}
            Err(error) => return Err(error),
        }
        self.fence()?;
        self.device().reset_peak()
    }
}
