//! What a device can do at most, measured in the same run: copy bandwidth and peak arithmetic.
//!
//! Roofline of a case, operations a second: min(flops / bytes x copy bandwidth, peak). Copy: 16 bytes an item of f64.

use super::case::{Case, Precision};
use crate::Result;
use crate::blas::{Blas, peak};
use crate::run::clock::{Clock, Effort, median_within};
use crate::space::HostSpace;

/// Rates of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceilings {
    /// Its name in the table.
    pub device: String,
    /// Bytes a second of a copy, read and written.
    pub copy: f64,
    /// Operations a second in f32 and f64.
    pub peak: [f64; 2],
}

const EFFORT: Effort = Effort { seconds: 0.3, samples: [5, 30] };

impl Ceilings {
    /// Of a host space, with copies of `items` numbers.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn of_host<S: HostSpace>(space: &S, items: usize) -> Result<Self> {
        let peak = [peak::<f32, S>(space)?, peak::<f64, S>(space)?];
        Ok(Ceilings { device: space.label(), copy: copy(space, items)?, peak })
    }

    /// Of a GPU; in f64 the faster of tensor cores and the others.
    ///
    /// # Errors
    /// Lack of memory, a device's failure.
    #[cfg(feature = "cuda")]
    pub fn of_gpu(space: &crate::space::Cuda, items: usize) -> Result<Self> {
        use crate::space::ExecutionSpace;
        let peaks = crate::blas::peak_on_gpu(space)?;
        let peak = [peaks.f32, peaks.f64.max(peaks.f64_tensor)];
        Ok(Ceilings { device: space.label(), copy: copy(space, items)?, peak })
    }

    /// Operations a second that the case can reach here.
    pub fn roofline(&self, case: &Case) -> f64 {
        let peak = match case.precision {
            Precision::F32 => self.peak[0],
            Precision::F64 => self.peak[1],
        };
        (case.flops() / case.bytes() as f64 * self.copy).min(peak)
    }
}

fn copy<S: Clock + Blas>(space: &S, items: usize) -> Result<f64> {
    let (x, mut y) = (space.zeros::<f64>(items)?, space.zeros::<f64>(items)?);
    // Written once, so that no two pages of the source are the same one.
    let mut x = x;
    space.fill(items, 1.0, &mut x)?;
    let timing = median_within(space, EFFORT, || space.copy(items, &x, &mut y))?;
    Ok(16.0 * items as f64 / timing.seconds)
}
