//! Sums over blocks of fixed length: what the reductions of hosts have in common.

use crate::Result;
use crate::error::check_at_least;
use crate::space::Threads;
use rayon::slice::{Chunks, ChunksMut, ParallelSlice, ParallelSliceMut};

/// `scalars[slot]` = sum of the partial sums, in order.
///
/// The number of blocks depends on the length alone, not on the threads, and neither does the rounding.
pub(crate) fn total(operation: &'static str, partials: &[f64], slot: usize, scalars: &mut [f64]) -> Result<()> {
    first_mut(operation, "scalars", scalars, slot + 1)?[slot] = partials.iter().sum();
    Ok(())
}

/// Sum of `term(i)` over a block, in [`WAYS`] interleaved sums. A compiler may not reorder one chain of additions; these it can
/// keep in vector registers.
#[inline(always)]
pub(crate) fn sum_of(block: &[f64], term: impl Fn(usize) -> f64) -> f64 {
    const WAYS: usize = 16;
    let mut sums = [0.0; WAYS];
    let whole = block.len() / WAYS * WAYS;
    for start in (0..whole).step_by(WAYS) {
        for (way, sum) in sums.iter_mut().enumerate() {
            *sum += term(start + way);
        }
    }
    sums.iter().sum::<f64>() + (whole..block.len()).map(term).sum::<f64>()
}

/// Returns the first `n` items of an array.
pub(crate) fn first<'a>(operation: &'static str, array: &'static str, x: &'a [f64], n: usize) -> Result<&'a [f64]> {
    check_at_least(operation, array, x.len(), n)?;
    Ok(&x[..n])
}

/// Returns the first `n` items of an array to write to.
pub(crate) fn first_mut<'a>(
    operation: &'static str,
    array: &'static str,
    x: &'a mut [f64],
    n: usize,
) -> Result<&'a mut [f64]> {
    check_at_least(operation, array, x.len(), n)?;
    Ok(&mut x[..n])
}

/// Returns the blocks of the first `n` items of an array.
pub(crate) fn blocks<'a>(
    operation: &'static str,
    array: &'static str,
    x: &'a [f64],
    n: usize,
) -> Result<Chunks<'a, f64>> {
    Ok(first(operation, array, x, n)?.par_chunks(Threads::CHUNK))
}

/// Returns the blocks of the first `n` items of an array to write to.
pub(crate) fn blocks_mut<'a>(
    operation: &'static str,
    array: &'static str,
    x: &'a mut [f64],
    n: usize,
) -> Result<ChunksMut<'a, f64>> {
    Ok(first_mut(operation, array, x, n)?.par_chunks_mut(Threads::CHUNK))
}
