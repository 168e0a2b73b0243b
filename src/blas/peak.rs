//! Peak arithmetic: fused multiply-adds per second on registers only, as the roofline's upper bound.
//!
//! Each thread accumulates as many independent sums as hide the latency of an instruction, at two operations per fused
//! multiply-add. Takes about 50 ms.

use crate::space::Threads;
use crate::space::lanes::{Lanes, Real};
#[cfg(feature = "cuda")]
use crate::{Error, Result};
use multiversion::multiversion;
use multiversion::target::match_target;
use rayon::prelude::*;
use std::any::TypeId;
use std::time::Instant;

/// Measures operations per second in `f32` or `f64` on all threads; the best of 6 passes.
pub fn peak<T: Real>(space: &Threads) -> f64 {
    let rounds = 200_000;
    let mut operations = vec![0u64; space.concurrency()];
    let mut best = 0.0f64;
    // The first of six passes warms up: a core may raise its clock and wake its vector units.
    for _ in 0..6 {
        let start = Instant::now();
        space.for_each(operations.par_chunks_mut(1), |operations| operations[0] = chains::<T>(rounds));
        let rate = operations.iter().sum::<u64>() as f64 / start.elapsed().as_secs_f64();
        best = best.max(rate);
    }
    best
}

// The attribute expands to unsafe calls of the versions, each after a check that the processor has the instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn chains<T: Real>(rounds: u64) -> u64 {
    let is_single = TypeId::of::<T>() == TypeId::of::<f32>();
    match_target! {
        "x86_64+avx512f" => if is_single { sums::<T, true, 16>(rounds) } else { sums::<T, true, 8>(rounds) },
        "x86_64+fma" => if is_single { sums::<T, true, 8>(rounds) } else { sums::<T, true, 4>(rounds) },
        _ => if is_single { sums::<T, false, 4>(rounds) } else { sums::<T, false, 2>(rounds) },
    }
}

/// Accumulates ten sums of `WIDTH` lanes, which hide a latency of five cycles with two units, and returns the number of
/// operations. The ten are written out, because LLVM turns a loop over them into vectors of first lanes, gathered and
/// scattered at every step.
#[inline(always)]
fn sums<T: Real, const FUSED: bool, const WIDTH: usize>(rounds: u64) -> u64 {
    // A value unknown to the compiler, so that it cannot evaluate the sums.
    let zero = std::hint::black_box(T::default());
    let (factor, mut sums) = (Lanes::<FUSED, T, WIDTH>::splat(zero), [Lanes::<FUSED, T, WIDTH>::splat(zero); 10]);
    macro_rules! step {
        ($($i:literal)*) => {$( sums[$i] = sums[$i].mul_add(factor, factor); )*};
    }
    for _ in 0..rounds {
        step!(0 1 2 3 4 5 6 7 8 9);
    }
    std::hint::black_box(sums);
    2 * rounds * (WIDTH * 10) as u64
}

/// Peak arithmetic of a GPU, in operations per second.
#[cfg(feature = "cuda")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// In f32.
    pub f32: f64,
    /// In f64 without tensor cores.
    pub f64: f64,
    /// In f64 on tensor cores.
    pub f64_tensor: f64,
}

/// Measures the peaks of a GPU by its own clock; the best of 6 passes each.
///
/// # Errors
/// Returns a failure of the device.
#[cfg(feature = "cuda")]
pub fn peak_on_gpu(space: &crate::space::Cuda) -> Result<Peaks> {
    use super::kernel_files::PEAK;
    use crate::space::ExecutionSpace;
    use crate::space::cuda::{Argument, Grid, arguments};
    const THREADS: u32 = 256;
    // A grid that is certainly resident at once, so that no block waits for others to finish.
    let blocks = 4 * space.device().info().multiprocessors as usize;
    let (mut single, mut double) = (space.zeros::<f32>(1)?, space.zeros::<f64>(1)?);
    let best = |name: &'static str, per_warp_round: f64, rounds: u64, factor: Argument, never: Argument| {
        let mut rate = 0.0f64;
        for _ in 0..6 {
            let before = space.record()?;
            space.launch(&PEAK, name, Grid::new(blocks, THREADS), arguments![rounds, factor, never])?;
            let seconds = space.record()?.since(&before)?.as_secs_f64();
            rate = rate.max(per_warp_round * rounds as f64 * (blocks * THREADS as usize / 32) as f64 / seconds);
        }
        if rate.is_finite() {
            Ok(rate)
        } else {
            Err(Error::Device(format!("{name}: the kernel took no measurable time")))
        }
    };
    let (single, double) = (Argument::from(&mut single), Argument::from(&mut double));
    Ok(Peaks {
        f32: best("fma_f32", 2.0 * 8.0 * 16.0 * 32.0, 4096, 0.5f32.into(), single)?,
        f64: best("fma_f64", 2.0 * 8.0 * 16.0 * 32.0, 2048, 0.5f64.into(), double)?,
        f64_tensor: best("mma_f64", 8.0 * 8.0 * 512.0, 1024, 0.5f64.into(), double)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_positive() {
        // The test does not compare the two rates, because other tests run beside it and disturb the times.
        let rates = [peak::<f64>(&crate::space::Serial), peak::<f32>(&crate::space::Serial)];
        assert!(rates.iter().all(|&rate| rate > 1e7 && rate.is_finite()), "{rates:?}");
    }
}
