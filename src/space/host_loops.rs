//! Loops with functions of a user on hosts.

use super::atomic::{Atomic, AtomicF64, Shared, atomic_view};
use super::{IndexFn, ItemFn, Loops, Reduction, Team, TeamFn, Threads, TileFn, memory::try_zeroed};
use crate::Result;
use crate::error::check_at_least;
use rayon::prelude::*;
use std::ops::Range;

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

    fn for_indices<const NUMBERS: usize, const INDICES: usize, const CELLS: usize, T: Atomic<Cell: Shared>>(
        &self,
        n: usize,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [T]; CELLS],
    ) -> Result<()>
    where
        F: IndexFn<NUMBERS, INDICES, CELLS, T>,
    {
        let cells: [&[T::Cell]; CELLS] = cells.map(atomic_view);
        // The work of an index may be large: some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(1, Threads::CHUNK);
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
        if n <= Threads::CHUNK && inputs.iter().all(|x| x.len() >= n) {
            return Ok(joined(f, 0, inputs, n));
        }
        let partials = joined_chunks(self, "reduce_items", n, f, inputs)?;
        Ok(partials.iter().fold(f.identity(), |sum, &value| f.join(sum, value)))
    }

    fn reduce_into<const IN: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&[F::Item]; IN],
        out: &mut [F::Value],
    ) -> Result<()>
    where
        F: Reduction<IN>,
    {
        check_at_least("reduce_into", "out", out.len(), 1)?;
        out[0] = self.reduce_items(n, f, inputs)?;
        Ok(())
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

    fn for_teams<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        _: Team,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [f64]; CELLS],
    ) -> Result<()>
    where
        F: TeamFn<NUMBERS, INDICES, CELLS>,
    {
        let cells: [&[AtomicF64]; CELLS] = cells.map(atomic_view);
        // Some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(64, Threads::CHUNK);
        self.for_each((0..n.div_ceil(chunk)).into_par_iter(), |piece| {
            for i in piece * chunk..n.min((piece + 1) * chunk) {
                let [first, end] = f.range(i, indices);
                let joined = (first..end).fold(f.identity(), |sum, k| f.join(sum, f.value(i, k, numbers, indices)));
                f.at(i, joined, cells);
            }
        });
        Ok(())
    }

    fn for_tiles<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [f64]; CELLS],
    ) -> Result<()>
    where
        F: TileFn<NUMBERS, INDICES, CELLS>,
    {
        let cells: [&[AtomicF64]; CELLS] = cells.map(atomic_view);
        // Some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(1, Threads::CHUNK);
        self.try_for_each((0..n.div_ceil(chunk)).into_par_iter(), |piece| {
            let mut scratch = try_zeroed("scratch of a team", F::SCRATCH)?;
            let mut values = try_zeroed("values of a team's lanes", F::LANES)?;
            for team in piece * chunk..n.min((piece + 1) * chunk) {
                values.fill(f.start());
                for phase in 0..f.phases(team, indices) {
                    for (k, item) in scratch.iter_mut().enumerate() {
                        *item = f.load(team, phase, k, numbers, indices);
                    }
                    for (lane, value) in values.iter_mut().enumerate() {
                        *value = f.step(lane, *value, &scratch);
                    }
                }
                for (lane, &value) in values.iter().enumerate() {
                    f.at(team, lane, value, cells);
                }
            }
            Ok(())
        })
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
        *out = joined(f, first, inputs.map(|x| &x[first..first + len]), len);
    });
    Ok(partials)
}

/// The values of a chunk joined, several at a time if their order does not count. A processor then need not wait for one join before
/// it begins the next; fewer large values stay in registers.
fn joined<F: Reduction<IN>, const IN: usize>(f: &F, first: usize, inputs: [&[F::Item]; IN], len: usize) -> F::Value {
    match (F::COMMUTES, size_of::<F::Value>()) {
        (true, ..=8) => in_ways::<F, IN, 16>(f, first, inputs, len),
        (true, _) => in_ways::<F, IN, 4>(f, first, inputs, len),
        _ => in_order(f, first, 0..len, inputs),
    }
}

fn in_order<F: Reduction<IN>, const IN: usize>(
    f: &F,
    first: usize,
    range: Range<usize>,
    inputs: [&[F::Item]; IN],
) -> F::Value {
    range.fold(f.identity(), |sum, k| f.join(sum, f.value(first + k, inputs.map(|x| x[k]))))
}

fn in_ways<F: Reduction<IN>, const IN: usize, const WAYS: usize>(
    f: &F,
    first: usize,
    inputs: [&[F::Item]; IN],
    len: usize,
) -> F::Value {
    let whole = len / WAYS * WAYS;
    let blocks = inputs.map(|x| x[..whole].as_chunks::<WAYS>().0);
    let mut sums = [f.identity(); WAYS];
    for block in 0..whole / WAYS {
        let items = blocks.map(|x| &x[block]);
        for way in 0..WAYS {
            sums[way] = f.join(sums[way], f.value(first + WAYS * block + way, items.map(|x| x[way])));
        }
    }
    let sum = sums.into_iter().fold(f.identity(), |a, b| f.join(a, b));
    f.join(sum, in_order(f, first, whole..len, inputs))
}
