//! Compares a contraction's output with reference values in device memory; only two counts are read back.
//!
//! Launches `kernels/contraction_check.cu`. Bytes: each output once, 24 per reference value.

use super::kernel_files::CONTRACTION_CHECK;
use crate::space::cuda::{Grid, arguments};
use crate::space::lanes::Real;
use crate::space::{Cuda, CudaArray, ExecutionSpace};
use crate::{Error, Result};

/// Reference values of chosen outputs, in device memory.
#[derive(Debug)]
pub struct Reference {
    places: CudaArray<u64>,
    values: CudaArray<f64>,
    bounds: CudaArray<f64>,
    /// Outputs that an array must have at least: the largest place plus 1.
    least: usize,
}

impl Reference {
    /// Copies reference values to the GPU: the place of each output, its value, and the largest difference allowed.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn new(gpu: &Cuda, entries: &[(usize, f64, f64)]) -> Result<Self> {
        let column = |of: fn(&(usize, f64, f64)) -> f64| entries.iter().map(of).collect::<Vec<_>>();
        Ok(Reference {
            places: gpu.upload(&entries.iter().map(|entry| entry.0 as u64).collect::<Vec<_>>())?,
            values: gpu.upload(&column(|entry| entry.1))?,
            bounds: gpu.upload(&column(|entry| entry.2))?,
            least: entries.iter().map(|entry| entry.0 + 1).max().unwrap_or(0),
        })
    }

    /// Fills an array with NaN bits, so that unwritten items are found.
    ///
    /// # Errors
    /// A device's failure.
    pub fn spoil<T: Real>(gpu: &Cuda, found: &mut CudaArray<T>) -> Result<()> {
        gpu.fill_bytes(found, 0xff)
    }

    /// Returns whether the first `outputs` items are numbers and the chosen ones within their bounds.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an array that is too short; a device's failure.
    pub fn is_met<T: Real>(&self, gpu: &Cuda, outputs: usize, found: &CudaArray<T>) -> Result<bool> {
        let (least, len) = (outputs.max(self.least), found.len());
        if len < least {
            return Err(Error::Invalid(format!("comparison of {least} outputs: the array has {len} items")));
        }
        let mut faults = gpu.zeros::<u64>(2)?;
        let kernel = if size_of::<T>() == 8 { "look_f64" } else { "look_f32" };
        let grid = Grid::cover(outputs.min(1 << 20), 256);
        let entries = self.places.len() as u64;
        let arguments =
            arguments![outputs as u64, entries, found, &self.places, &self.values, &self.bounds, &mut faults];
        gpu.launch(&CONTRACTION_CHECK, kernel, grid, arguments)?;
        Ok(gpu.download(&faults)? == [0, 0])
    }
}
