//! Measured limits of a device: copy bandwidth and peak arithmetic.
//!
//! Roofline of a case, operations a second: min(flops / bytes x copy bandwidth, peak). Copy: 16 bytes an item of f64.

use super::case::{Case, Precision};
use minifenl::Result;
use minifenl::blas::peak;
use minifenl::run::Job;
use minifenl::run::clock::seconds;
use minifenl::space::{ExecutionSpace, MemorySpace, Threads};

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

/// Number of copies; the fastest counts.
const PASSES: usize = 10;

impl Ceilings {
    /// Of a host space, with copies of `items` numbers.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn of_host(space: &Threads, items: usize) -> Result<Self> {
        let peak = [peak::<f32>(space), peak::<f64>(space)];
        Ok(Ceilings { device: space.label(), copy: copy(space, items)?, peak })
    }

    /// Of a GPU; in f64 the faster of tensor cores and the others.
    ///
    /// # Errors
    /// Lack of memory, a device's failure.
    #[cfg(feature = "cuda")]
    pub fn of_gpu(space: &minifenl::space::Cuda, items: usize) -> Result<Self> {
        use minifenl::space::ExecutionSpace;
        let peaks = minifenl::blas::peak_on_gpu(space)?;
        let peak = [peaks.f32, peaks.f64.max(peaks.f64_tensor)];
        Ok(Ceilings { device: space.label(), copy: copy(space, items)?, peak })
    }

    /// Reads the comment of a table with the ceilings of a device; no other comment has three rates.
    pub fn parse(line: &str) -> Option<Self> {
        let (device, rates) = line.strip_prefix("# ")?.split_once(',')?;
        let rate = |text: &str| text.parse().ok().filter(|rate: &f64| (1e-3..1e12).contains(rate));
        let rates: Option<Vec<f64>> = rates.split(',').map(rate).collect();
        let [copy, single, double] = rates?.try_into().ok()?;
        Some(Ceilings { device: device.into(), copy: 1e9 * copy, peak: [1e9 * single, 1e9 * double] })
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

fn copy<S: Job>(space: &S, items: usize) -> Result<f64> {
    let (mut x, mut y) = (space.zeros::<f64>(items)?, space.zeros::<f64>(items)?);
    let (x, y) = (S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut y));
    // Written once, so that all pages are there.
    space.fill(items, 1.0, x)?;
    space.copy(items, x, y)?;
    let seconds = seconds(space, PASSES, 1, &mut || space.copy(items, x, y))?;
    Ok(16.0 * items as f64 / seconds.into_iter().fold(f64::INFINITY, f64::min))
}

#[test]
fn a_roofline_is_the_lower_of_its_two_lines() {
    use super::case::Kernel;
    let ceilings = Ceilings { device: "x".into(), copy: 1e10, peak: [4e10, 1e10] };
    let roofline = |kernel, precision, fields, points| {
        ceilings.roofline(&Case::filling(kernel, precision, fields, points, [1, 1], 1 << 20))
    };
    // 2 P flops in 4 (2 P + 1) bytes: 128 / 516 flops per byte of the copy.
    let by_copy = roofline(Kernel::DataDataScalar, Precision::F32, [1, 1], 64);
    assert!((by_copy - 1e10 * 128.0 / 516.0).abs() < 1.0, "{by_copy}");
    // 2 64 64 64 flops in 8 (3 64 64) bytes would be 5.3e10 by the copy.
    assert_eq!(roofline(Kernel::FieldFieldScalar, Precision::F64, [64, 64], 64), 1e10);
    assert_eq!(roofline(Kernel::FieldFieldScalar, Precision::F32, [64, 64], 64), 4e10);
}
