//! STREAM triad a = b + s c: the memory bandwidth that the report compares every phase with.
//!
//! 24 bytes per item, STREAM's own count, without the write-allocate traffic that some processors add. The same chunks
//! on the same space touch the pages first, so that memory is local to its thread. Takes about half a second. Allocates
//! three arrays, so peak memory must be read before.

use crate::space::{ExecutionSpace, Threads, available_bytes};
use crate::{Error, Result};
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Bandwidth in GB/s (1e9 bytes per second).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triad {
    /// Bandwidth of the fastest pass.
    pub best: f64,
    /// Median over the passes.
    pub median: f64,
}

/// Returns the items per array that make caches negligible: 4 times the last-level cache over all `processes`. The
/// total is at least 64 MiB and at most a sixteenth of the free memory.
pub fn triad_length(processes: usize) -> usize {
    let cache = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok();
    let kib = cache.and_then(|text| text.trim().trim_end_matches('K').parse::<u64>().ok()).unwrap_or(32 << 10);
    let bytes = (4 * kib * 1024).max(64 << 20).min(available_bytes() / 16);
    (bytes as usize / 8 / processes.max(1)).max(HOST_CHUNK)
}

const HOST_CHUNK: usize = 4096;

/// Measures with arrays of `len` items: one pass to warm up, then up to 15 passes or 0.4 s.
///
/// # Errors
/// [`Error::OutOfMemory`] when the memory is not available, [`Error::Invalid`] when `len` is 0.
pub fn triad(space: &Threads, len: usize) -> Result<Triad> {
    if len == 0 {
        return Err(Error::Invalid("triad: array length is 0, expected 1 or more".into()));
    }
    let (mut a, mut b, mut c) = (space.zeros::<f64>(len)?, space.zeros::<f64>(len)?, space.zeros::<f64>(len)?);
    for (array, value) in [(&mut b, 1.0), (&mut c, 2.0)] {
        space.for_each(array.par_chunks_mut(Threads::CHUNK), |chunk| chunk.fill(value));
    }
    // The first pass touches the pages of `a`, whose faults would count as bandwidth.
    pass(space, &mut a, &b, &c);
    let (start, mut rates) = (Instant::now(), Vec::new());
    while rates.is_empty() || (rates.len() < 15 && start.elapsed() < Duration::from_millis(400)) {
        let begin = Instant::now();
        pass(space, &mut a, &b, &c);
        rates.push(24e-9 * len as f64 / begin.elapsed().as_secs_f64());
    }
    // Reading a result keeps the compiler from removing the passes.
    of_rates(rates, a[len / 2])
}

/// Measures a GPU with arrays of `len` items by its own clock: the median of 15 passes after one to warm up.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Shape`](crate::Error::Shape) without items, and failures of the device.
#[cfg(feature = "cuda")]
pub fn triad_on_gpu(space: &crate::space::Cuda, len: usize) -> Result<Triad> {
    use crate::space::ExecutionSpace;
    let (mut a, mut b, mut c) = (space.unfilled(len)?, space.unfilled(len)?, space.unfilled(len)?);
    super::Blas::fill(space, len, 1.0, &mut b)?;
    super::Blas::fill(space, len, 2.0, &mut c)?;
    space.triad_pass(len, &b, 3.0, &c, &mut a)?;
    let mut rates = Vec::new();
    for _ in 0..15 {
        let before = space.record()?;
        space.triad_pass(len, &b, 3.0, &c, &mut a)?;
        rates.push(24e-9 * len as f64 / space.record()?.since(&before)?.as_secs_f64());
    }
    let mut value = [0.0];
    space.read(&a, &mut value)?;
    of_rates(rates, value[0])
}

/// Best and median rate, if the passes computed the right item.
fn of_rates(mut rates: Vec<f64>, item: f64) -> Result<Triad> {
    if item != 7.0 {
        return Err(Error::Invalid(format!("triad: computed {item} for 1 + 3 * 2")));
    }
    rates.sort_by(f64::total_cmp);
    Ok(Triad { best: rates[rates.len() - 1], median: rates[rates.len() / 2] })
}

/// Computes a = b + 3 c.
fn pass(space: &Threads, a: &mut [f64], b: &[f64], c: &[f64]) {
    let pieces = a.par_chunks_mut(Threads::CHUNK).zip(b.par_chunks(Threads::CHUNK)).zip(c.par_chunks(Threads::CHUNK));
    space.for_each(pieces, |((a, b), c)| {
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            *a = b + 3.0 * c;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn the_triad_measures_a_bandwidth() {
        for rate in [triad(&Serial, 10_000).unwrap(), triad(&Threads::new(2).unwrap(), 10_000).unwrap()] {
            assert!(rate.median > 0.0 && rate.best >= rate.median);
        }
        assert!(triad(&Serial, 0).is_err());
        assert!(triad_length(1) >= triad_length(4));
    }
}
