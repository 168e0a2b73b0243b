//! Loops with functions of a user on hosts.

use super::atomic::{AtomicF64, atomic_view};
use super::{IndexFn, ItemFn, Loops, Reduction, Threads, memory::try_zeroed};
use crate::Result;
use crate::error::check_at_least;
use rayon::prelude::*;

/// Joins in flight: a processor need not wait for one before it begins the next.
const WAYS: usize = 16;

impl<F> Loops<F> for Threads {
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&[F::Item]; IN],
        outputs: [&mut [F::Item]; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>,
    {
        inputs.iter().try_for_each(|x| check_at_least("for_items", "inputs", x.len(), n))?;
        outputs.iter().try_for_each(|x| check_at_least("for_items", "outputs", x.len(), n))?;
        let mut pieces = outputs.map(|out| out[..n].chunks_mut(Threads::CHUNK));
        // One item per chunk: the piece of each output.
        let mut chunks: Vec<[&mut [F::Item]; OUT]> = (0..n.div_ceil(Threads::CHUNK))
            .map(|_| pieces.each_mut().map(|pieces| pieces.next().unwrap_or_default()))
            .collect();
        self.for_each(chunks.par_iter_mut().enumerate(), |(chunk, outputs)| {
            let first = chunk * Threads::CHUNK;
            let len = Threads::CHUNK.min(n - first);
            // Slices of equal length: the loop needs no checks.
            let inputs = inputs.map(|x| &x[first..first + len]);
            let mut outputs = outputs.each_mut().map(|out| &mut out[..len]);
            for k in 0..len {
                let found = f.item(first + k, inputs.map(|x| x[k]), outputs.each_ref().map(|y| y[k]));
                outputs.iter_mut().zip(found).for_each(|(out, number)| out[k] = number);
            }
        });
        Ok(())
    }

    fn for_indices<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [f64]; CELLS],
    ) -> Result<()>
    where
        F: IndexFn<NUMBERS, INDICES, CELLS>,
    {
        let cells: [&[AtomicF64]; CELLS] = cells.map(atomic_view);
        // The work of an index may be large: some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(64, Threads::CHUNK);
        self.for_each((0..n.div_ceil(chunk)).into_par_iter(), |piece| {
            for i in piece * chunk..n.min((piece + 1) * chunk) {
                f.at(i, numbers, indices, cells);
            }
        });
        Ok(())
    }

    fn reduce_items<const IN: usize>(&self, n: usize, f: &F, inputs: [&[F::Item]; IN]) -> Result<F::Value>
    where
        F: Reduction<IN>,
    {
        let partials = joined_chunks(self, "reduce_items", n, f, inputs)?;
        Ok(partials.iter().fold(f.identity(), |sum, &value| f.join(sum, value)))
    }

    fn scan_items<const IN: usize>(&self, n: usize, f: &F, inputs: [&[F::Item]; IN], out: &mut [F::Value]) -> Result<()>
    where
        F: Reduction<IN>,
    {
        check_at_least("scan_items", "out", out.len(), n)?;
        let mut starts = joined_chunks(self, "scan_items", n, f, inputs)?;
        starts.iter_mut().fold(f.identity(), |before, of_chunk| {
            let total = f.join(before, *of_chunk);
            *of_chunk = before;
            total
        });
        let chunks = starts.par_iter().zip(out[..n].par_chunks_mut(Threads::CHUNK)).enumerate();
        self.for_each(chunks, |(chunk, (&start, out))| {
            let first = chunk * Threads::CHUNK;
            out.iter_mut().enumerate().fold(start, |before, (k, out)| {
                *out = f.join(before, f.value(first + k, inputs.map(|x| x[first + k])));
                *out
            });
        });
        Ok(())
    }
}

/// The values of each chunk joined.
fn joined_chunks<F: Reduction<IN>, const IN: usize>(
    space: &Threads,
    operation: &'static str,
    n: usize,
    f: &F,
    inputs: [&[F::Item]; IN],
) -> Result<Vec<F::Value>> {
    inputs.iter().try_for_each(|x| check_at_least(operation, "inputs", x.len(), n))?;
    let mut partials = try_zeroed("partial results of a reduction", Threads::partials(n))?;
    space.for_each(partials.par_iter_mut().enumerate(), |(chunk, out)| {
        let first = chunk * Threads::CHUNK;
        let len = Threads::CHUNK.min(n - first);
        *out = joined(f, first, len, inputs.map(|x| &x[first..first + len]));
    });
    Ok(partials)
}

/// The values of a chunk joined, [`WAYS`] at a time if their order does not count.
fn joined<F: Reduction<IN>, const IN: usize>(f: &F, first: usize, len: usize, inputs: [&[F::Item]; IN]) -> F::Value {
    let inputs = inputs.map(|x| &x[..len]);
    let value = |k: usize| f.value(first + k, inputs.map(|x| x[k]));
    let whole = if F::COMMUTES { len / WAYS * WAYS } else { 0 };
    let mut sums = [f.identity(); WAYS];
    for start in (0..whole).step_by(WAYS) {
        for (way, sum) in sums.iter_mut().enumerate() {
            *sum = f.join(*sum, value(start + way));
        }
    }
    let before = if whole > 0 { sums.into_iter().fold(f.identity(), |a, b| f.join(a, b)) } else { f.identity() };
    (whole..len).fold(before, |sum, k| f.join(sum, value(k)))
}
