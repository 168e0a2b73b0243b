//! Products of block matrices on Serial and Threads: one task per block of rows.

use super::BlockCrsMatrix;
use crate::blas::Reductions;
use crate::error::{check_at_least, check_length};
use crate::space::{HostSpace, prefetch};
use crate::sparse::Product;
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Distance of the software prefetch, in rows of blocks: the hardware prefetcher stops at page boundaries.
const PREFETCH_ROWS: usize = 192;

impl<const B: usize, S: HostSpace> Product<S> for &BlockCrsMatrix<B> {
    /// Whole nodes, and at least as many rows as a chunk of a dot product has, so that the partial sums suffice.
    const ROW_BLOCK: usize = S::CHUNK.div_ceil(B) * B;

    fn extents(&self) -> (usize, usize) {
        self.size()
    }

    fn bytes(&self) -> usize {
        self.product_bytes()
    }

    fn multiply(&self, space: &S, x: &[f64], y: &mut [f64]) -> Result<()> {
        let (rows, columns) = self.size();
        check_at_least("multiply", "x", x.len(), columns)?;
        check_at_least("multiply", "y", y.len(), rows)?;
        let (x, block) = (x.as_chunks::<B>().0, <Self as Product<S>>::ROW_BLOCK / B);
        let y = y[..rows].as_chunks_mut::<B>().0;
        space.for_each(y.par_chunks_mut(block).enumerate(), |(task, y)| {
            products(self, task * block, x, y.len(), |i, sums| y[i] = sums);
        });
        Ok(())
    }

    fn multiply_dot(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &[f64],
        y: &mut [f64],
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        const NAME: &str = "multiply_dot";
        let (all, columns) = self.size();
        let size = <Self as Product<S>>::ROW_BLOCK;
        if rows.start > rows.end || rows.end > all || (rows.end < all && !rows.end.is_multiple_of(size)) {
            return Err(Error::Invalid(format!("{NAME}: rows {rows:?} of a matrix of {all} rows in blocks of {size}")));
        }
        check_length(NAME, "rows (their start in a block)", rows.start % size, 0)?;
        check_at_least(NAME, "x", x.len(), columns.max(rows.end))?;
        check_at_least(NAME, "y", y.len(), all)?;
        if sums.is_stopped()? {
            return Ok(());
        }
        let Reductions { partials, scalars, .. } = sums;
        let blocks = rows.start / size..rows.end.div_ceil(size);
        check_at_least(NAME, "scalars", scalars.len(), slot + 1)?;
        check_at_least(NAME, "partials", partials.len(), blocks.end)?;
        let (last, x) = (blocks.end, x.as_chunks::<B>().0);
        let y = y[rows.clone()].as_chunks_mut::<B>().0;
        space.for_each(y.par_chunks_mut(size / B).zip(&mut partials[blocks]).enumerate(), |(task, (y, partial))| {
            let first = rows.start / B + task * (size / B);
            let mut dot = 0.0;
            products(self, first, x, y.len(), |i, sums| {
                y[i] = sums;
                (0..B).for_each(|c| dot += sums[c] * x[first + i][c]);
            });
            *partial = dot;
        });
        // The last range adds the partial sums of all ranges, in the order of an undivided product: a split changes no bit.
        if rows.end == all {
            scalars[slot] = partials[..last].iter().sum();
        }
        Ok(())
    }
}

/// Hands the product of each row of blocks `first + i`, `i` in `0..rows`, to `store(i, sums)`.
#[inline(always)]
fn products<const B: usize>(
    a: &BlockCrsMatrix<B>,
    first: usize,
    x: &[[f64; B]],
    rows: usize,
    mut store: impl FnMut(usize, [f64; B]),
) {
    let (entries, values) = (a.graph.entries(), a.values.as_chunks::<B>().0);
    for i in 0..rows {
        let mut sums = [0.0; B];
        for at in a.graph.row_range(first + i) {
            prefetch(values, B * at + PREFETCH_ROWS);
            let (x, block) = (&x[entries[at] as usize], &values[B * at..][..B]);
            for (sum, row) in sums.iter_mut().zip(block) {
                // Only this addition waits for the block before.
                *sum += row.iter().zip(x).map(|(value, x)| value * x).sum::<f64>();
            }
        }
        store(i, sums);
    }
}
