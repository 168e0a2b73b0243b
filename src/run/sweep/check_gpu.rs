//! The same look at a result on a GPU, where it lies: only what is wrong is read back.

use super::check::{Expected, Float};
use super::kernel_files::SWEEP;
use crate::Result;
use crate::space::cuda::{Grid, arguments};
use crate::space::{Cuda, CudaArray, ExecutionSpace};

/// [`Expected`] in the memory of a GPU.
#[derive(Debug)]
pub struct ExpectedOnGpu {
    places: CudaArray<u64>,
    values: CudaArray<f64>,
    bounds: CudaArray<f64>,
}

impl ExpectedOnGpu {
    /// A copy.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn new(gpu: &Cuda, expected: &Expected) -> Result<Self> {
        let entries = expected.entries();
        let column = |of: fn(&(usize, f64, f64)) -> f64| entries.iter().map(of).collect::<Vec<_>>();
        Ok(ExpectedOnGpu {
            places: gpu.upload(&entries.iter().map(|entry| entry.0 as u64).collect::<Vec<_>>())?,
            values: gpu.upload(&column(|entry| entry.1))?,
            bounds: gpu.upload(&column(|entry| entry.2))?,
        })
    }

    /// Whether the first `outputs` items are numbers and the chosen ones near enough.
    ///
    /// # Errors
    /// A device's failure.
    pub fn is_met<T: Float>(&self, gpu: &Cuda, outputs: usize, found: &CudaArray<T>) -> Result<bool> {
        let mut faults = gpu.zeros::<u64>(2)?;
        let kernel = if size_of::<T>() == 8 { "look_f64" } else { "look_f32" };
        let grid = Grid::cover(outputs.min(1 << 20), 256);
        let entries = self.places.len() as u64;
        let arguments =
            arguments![outputs as u64, entries, found, &self.places, &self.values, &self.bounds, &mut faults];
        gpu.launch(&SWEEP, kernel, grid, arguments)?;
        Ok(gpu.download(&faults)? == [0, 0])
    }
}
