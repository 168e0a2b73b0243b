//! Loops over arrays of any space with functions of a user.
//!
//! ```text
//! for_items      out_k[i] = f(i, in_0[i], in_1[i], ...)_k
//! reduce_items   x_0 o x_1 o ... o x_(n-1)
//! scan_items     out[i] = x_0 o ... o x_i
//! ```
//! The functions are methods of a struct. With the attribute [`device`](crate::device) a GPU runs them, too. A joiner `o` need only be
//! associative: items are joined in their order (example: docs/own_equation.md). Results do not depend on the number of threads; a GPU groups items differently.

use super::{ExecutionSpace, Slice, Threads, memory::try_zeroed};
use crate::Result;
use crate::error::check_at_least;
use rayon::prelude::*;

/// A function of an index and of one item of each of `IN` arrays.
pub trait ItemFn<const IN: usize, const OUT: usize>: Sync {
    /// Returns an item of each of `OUT` arrays.
    fn item(&self, i: usize, x: [f64; IN]) -> [f64; OUT];
}

/// An associative operation.
pub trait Joiner: Sync {
    /// Returns the number that changes no other.
    fn identity(&self) -> f64;

    /// Returns `a` joined with `b`, which stands behind it.
    fn join(&self, a: f64, b: f64) -> f64;
}

/// A space that runs loops with functions of type `F`.
pub trait Loops<F>: ExecutionSpace {
    /// Calls a function for the first `n` items.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, here and below; [`Error::Device`](crate::Error::Device) when a device fails.
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&Slice<Self, f64>; IN],
        outputs: [&mut Slice<Self, f64>; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>;

    /// Returns the first `n` items joined, the identity for none.
    ///
    /// # Errors
    /// As [`for_items`](Self::for_items), and [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn reduce_items(&self, n: usize, joiner: &F, x: &Slice<Self, f64>) -> Result<f64>
    where
        F: Joiner;

    /// Writes each of the first `n` items joined with those before it.
    ///
    /// # Errors
    /// As [`reduce_items`](Self::reduce_items).
    fn scan_items(&self, n: usize, joiner: &F, x: &Slice<Self, f64>, out: &mut Slice<Self, f64>) -> Result<()>
    where
        F: Joiner;
}

impl<F> Loops<F> for Threads {
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&[f64]; IN],
        outputs: [&mut [f64]; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>,
    {
        inputs.iter().try_for_each(|x| check_at_least("for_items", "inputs", x.len(), n))?;
        outputs.iter().try_for_each(|x| check_at_least("for_items", "outputs", x.len(), n))?;
        let mut pieces = outputs.map(|out| out[..n].chunks_mut(Threads::CHUNK));
        // One item per chunk: the piece of each output.
        let mut chunks: Vec<[&mut [f64]; OUT]> = (0..n.div_ceil(Threads::CHUNK))
            .map(|_| pieces.each_mut().map(|pieces| pieces.next().unwrap_or_default()))
            .collect();
        self.for_each(chunks.par_iter_mut().enumerate(), |(chunk, outputs)| {
            let first = chunk * Threads::CHUNK;
            for i in first..n.min(first + Threads::CHUNK) {
                let found = f.item(i, inputs.map(|x| x[i]));
                outputs.iter_mut().zip(found).for_each(|(out, number)| out[i - first] = number);
            }
        });
        Ok(())
    }

    fn reduce_items(&self, n: usize, joiner: &F, x: &[f64]) -> Result<f64>
    where
        F: Joiner,
    {
        check_at_least("reduce_items", "x", x.len(), n)?;
        Ok(joined(joiner, &joined_chunks(self, joiner, &x[..n])?))
    }

    fn scan_items(&self, n: usize, joiner: &F, x: &[f64], out: &mut [f64]) -> Result<()>
    where
        F: Joiner,
    {
        check_at_least("scan_items", "x", x.len(), n)?;
        check_at_least("scan_items", "out", out.len(), n)?;
        let mut starts = joined_chunks(self, joiner, &x[..n])?;
        starts.iter_mut().fold(joiner.identity(), |before, of_chunk| {
            let total = joiner.join(before, *of_chunk);
            *of_chunk = before;
            total
        });
        let chunks =
            starts.par_iter().zip(x[..n].par_chunks(Threads::CHUNK)).zip(out[..n].par_chunks_mut(Threads::CHUNK));
        self.for_each(chunks, |((&start, x), out)| {
            out.iter_mut().zip(x).fold(start, |before, (out, &x)| {
                *out = joiner.join(before, x);
                *out
            });
        });
        Ok(())
    }
}

fn joined<F: Joiner>(joiner: &F, x: &[f64]) -> f64 {
    x.iter().fold(joiner.identity(), |sum, &x| joiner.join(sum, x))
}

/// Each chunk joined.
fn joined_chunks<F: Joiner>(space: &Threads, joiner: &F, x: &[f64]) -> Result<Vec<f64>> {
    let mut partials = try_zeroed("partial results of a reduction", Threads::partials(x.len()))?;
    space.for_each(partials.par_iter_mut().zip(x.par_chunks(Threads::CHUNK)), |(out, x)| *out = joined(joiner, x));
    Ok(partials)
}
