//! Products of symmetric halves on a host in one sweep over the slices, which reads each stored value once.
//!
//! ```text
//! slice by slice, rows r    y[r + o] += a(r, r + o) x[r]        stored offsets o > 0, for the rows that mirror them
//!                           y[r]     += a(r, r + o) x[r + o]    stored offsets, ascending
//! ```
//! A row gets its mirrored terms from the slices before it, in the order of their columns, and then its own: the order, and therefore
//! the bits, of [`host_rows`](super::host_rows), which reads mirrored values again. Slices that do not suit
//! ([`SweepLayout`](super::host_sweep_layout::SweepLayout)) are computed there at their turn. A piece of the rows begins with what the slices
//! before it add to its rows, so no bit depends on the pieces; it reads up to a plane of a box again.

use super::host_multiply::{WAYS, add_products, sum_of_ways};
use super::host_rows::{Rows, prefetch_vector, vector};
use super::host_unions::SLICE;
use crate::sparse::StoredValue;
use multiversion::multiversion;

/// Rows of a product, which one thread computes.
struct Piece<'a> {
    first: usize,
    y: &'a mut [f64],
    /// Number of items that are set, to 0 at first.
    begun: usize,
}

/// y = A x over the rows from `first` on, a multiple of 32: one for each item of y. Each partial sum becomes the share of x.y of `block` rows.
// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2", "x86_64+avx2"))]
pub(super) fn sweep<V: StoredValue>(
    a: Rows<'_, V>,
    first: usize,
    x: &[f64],
    y: &mut [f64],
    block: usize,
    partials: &mut [f64],
) {
    let mut piece = Piece { first, y, begun: 0 };
    for slice in first.saturating_sub(a.sweep.reach) / SLICE..first / SLICE {
        piece.add_mirrored(a, slice, x);
    }
    let mut dots = [0.0; WAYS];
    for at in (0..piece.y.len()).step_by(SLICE) {
        let slice = (first + at) / SLICE;
        piece.add_mirrored(a, slice, x);
        piece.finish(a, slice, x, &mut dots);
        let end = piece.y.len().min(at + SLICE);
        if end.is_multiple_of(block) || end == piece.y.len() {
            if let Some(partial) = partials.get_mut(at / block) {
                *partial = sum_of_ways(dots);
            }
            dots = [0.0; WAYS];
        }
    }
}

impl Piece<'_> {
    /// Adds the terms of a slice to later rows of the piece.
    #[inline(always)]
    fn add_mirrored<V: StoredValue>(&mut self, a: Rows<'_, V>, slice: usize, x: &[f64]) {
        let (row, reach) = (slice * SLICE, a.sweep.reach);
        let place = a.layout.slices[slice];
        let mirrored = a.sweep.mirrored(place.table);
        let end = row + reach + SLICE;
        if row < self.first || end > self.first + self.y.len() {
            return self.add_at_an_end(a, slice, x);
        }
        self.begin(end - self.first);
        let y = &mut self.y[row - self.first..end - self.first];
        // A copy, which stays in registers.
        let x = *vector(x, row);
        for (k, mirrored) in mirrored.iter().enumerate() {
            prefetch_vector(a.values, place.start + k * SLICE);
            let values = vector(a.values, place.start + mirrored.values);
            add_terms(&mut y[mirrored.offset..], values, &x);
        }
        // The values on the diagonal.
        prefetch_vector(a.values, place.start + mirrored.len() * SLICE);
    }

    /// Adds the terms of a slice to those of its rows that lie in the piece.
    #[cold]
    #[inline(never)]
    fn add_at_an_end<V: StoredValue>(&mut self, a: Rows<'_, V>, slice: usize, x: &[f64]) {
        let (place, end) = (a.layout.slices[slice], self.first + self.y.len());
        for mirrored in a.sweep.mirrored(place.table) {
            let values = vector(a.values, place.start + mirrored.values);
            let row = slice * SLICE;
            let target = row + mirrored.offset;
            if self.first <= target && target + SLICE <= end {
                self.begin(target + SLICE - self.first);
                add_terms(&mut self.y[target - self.first..], values, vector(x, row));
            } else {
                for i in self.first.saturating_sub(target)..SLICE.min(end.saturating_sub(target)) {
                    self.begin(target + i + 1 - self.first);
                    self.y[target + i - self.first] += values[i].into() * x[row + i];
                }
            }
        }
    }

    /// Adds the terms that the rows of a slice store, and the products of x and y to the sums of x.y.
    #[inline(always)]
    fn finish<V: StoredValue>(&mut self, a: Rows<'_, V>, slice: usize, x: &[f64], dots: &mut [f64; WAYS]) {
        let (place, at) = (a.layout.slices[slice], slice * SLICE - self.first);
        let is_swept = a.sweep.is_swept(place.table);
        let count = SLICE.min(self.y.len() - at);
        self.begin(at + count);
        let y = &mut self.y[at..];
        if let Some(y) = y.first_chunk_mut() {
            *y = if is_swept { a.stored(slice, x, *y) } else { a.slice(slice, x) };
            add_products(dots, vector(x, slice * SLICE), y);
        } else {
            let mut sums = [0.0; SLICE];
            sums[..count].copy_from_slice(y);
            let sums = if is_swept { a.stored(slice, x, sums) } else { a.slice(slice, x) };
            y.copy_from_slice(&sums[..count]);
            add_products(dots, &x[slice * SLICE..][..count], y);
        }
    }

    /// Sets the items before `end` to 0 that are not yet begun.
    #[inline(always)]
    fn begin(&mut self, end: usize) {
        while self.begun < end {
            let rest = &mut self.y[self.begun..];
            match rest.first_chunk_mut() {
                Some(y) => *y = [0.0; SLICE],
                None => rest.fill(0.0),
            }
            self.begun += SLICE;
        }
    }
}

/// Adds the products of values and x to the first 32 items of y.
#[inline(always)]
fn add_terms<V: StoredValue>(y: &mut [f64], values: &[V; SLICE], x: &[f64; SLICE]) {
    // A copy, which stays in registers.
    let mut sums = *vector(y, 0);
    for i in 0..SLICE {
        sums[i] += values[i].into() * x[i];
    }
    y[..SLICE].copy_from_slice(&sums);
}

#[cfg(test)]
mod tests {
    use super::super::host_slices::HostSlices;
    use super::super::host_tests::{box_columns, on, stored};
    use crate::blas::Reductions;
    use crate::space::{Serial, Threads};
    use crate::sparse::{Format, Precision, RowProduct};

    /// Sweeps would begin in all rows before their own.
    #[test]
    fn flat_boxes_are_multiplied_by_rows() {
        let a = on(box_columns([40, 30, 3], 0), 3600, |_, _| 1.0);
        let slices = HostSlices::<f64>::new(&Serial, a.graph(), true).unwrap();
        assert_eq!(slices.swept_rows(&Serial, 3600), Some(4096));
        assert_eq!(slices.swept_rows(&Threads::new(2).unwrap(), 3600), None);
    }

    /// A box with ghosts, and one whose rows in the middle have neighbours elsewhere: products by rows are among the sweeps.
    #[test]
    fn sweeps_have_the_bits_of_products_by_rows_on_any_number_of_threads() {
        let regular = box_columns([20, 19, 70], 20 * 19);
        let rows = regular.len();
        let mut mixed = regular.clone();
        for row in (9000..9600u32).step_by(5) {
            let other = row * 7 % 20000;
            mixed[row as usize].insert(other);
            mixed[other as usize].insert(row);
        }
        for columns in [regular, mixed] {
            let a = on(columns, 20 * 19 * 70, |low, high| ((low * 3 + high) as f64 * 0.37).sin());
            let x: Vec<f64> = (0..a.graph().columns()).map(|i| (i as f64 * 0.11).cos()).collect();
            for values in [Precision::F64, Precision::F32] {
                let product = |threads, format, bounds: &[usize]| {
                    let space = Threads::new(threads).unwrap();
                    let matrix = stored(&space, &a, (format, values));
                    let (mut y, mut sums) = (vec![f64::NAN; rows + 1], Reductions::new(&space, rows, 1).unwrap());
                    for ends in bounds.windows(2) {
                        let part = ends[0]..ends[1];
                        matrix
                            .operator()
                            .apply_dot_rows(
                                &space,
                                RowProduct { rows: part, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 0 },
                            )
                            .unwrap();
                    }
                    assert!(y.pop().unwrap().is_nan());
                    (y, sums.partials, sums.scalars)
                };
                let expected = product(1, Format::Pattern, &[0, rows]);
                for threads in 1..=8 {
                    let slices = HostSlices::<f64>::new(&Serial, a.graph(), true).unwrap();
                    let space = Threads::new(threads).unwrap();
                    assert!(slices.swept_rows(&space, rows).is_some_and(|each| each < rows || threads == 1));
                    for bounds in [&[0, rows][..], &[0, 4096, rows], &[0, 8192, 24576, rows]] {
                        let found = product(threads, Format::Symmetric, bounds);
                        assert!(found == expected, "{values} {threads} threads {bounds:?}");
                    }
                }
            }
        }
    }
}
