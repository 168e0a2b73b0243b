//! Contractions of operands whose contraction index is contiguous: rows of `K` numbers, one a field or a cell.
//!
//! Lanes run over the fields of the right operand, which are turned a panel at a time so that a k's fields are
//! neighbours; each sum of [`field_field`] is one chain over k, as the plain loop adds. [`dots`] has lanes over k, for
//! where each number is used once and turning it would cost more than the products: `W` partial sums (k modulo `W`) are
//! added in pairs at the end. Both orders depend on `W` alone, so on the processor, but not on threads or cells.
//!
//! Shapes: left `[L, K]`, right `[R, K]`, out `[L, R]`. Cost: 2 L R K operations; turning reads the right rows and writes
//! K x 3 W numbers of scratch for every 3 W fields.

use super::Sum;
use super::host::{Job, Operand};
use super::output::{Output, Whole, store};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::array::from_fn;
use std::ops::Range;

/// The fields of one operand of one cell.
#[derive(Clone, Copy, Debug)]
struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    count: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Rows of `count` numbers, `stride` apart. Nothing is read of `data` where `count` is 0.
    #[inline(always)]
    fn new(data: &'a [T], stride: usize, count: usize) -> Self {
        Rows { data, stride, count }
    }

    #[inline(always)]
    fn row(&self, f: usize) -> &'a [T] {
        if self.count == 0 { &[] } else { &self.data[f * self.stride..][..self.count] }
    }
}

/// Takes finished sums.
trait RowSink<T> {
    /// Takes out[l, r..r + sums.len()].
    fn put(&mut self, l: usize, r: usize, sums: &[T]);
}

/// Rows turned to columns.
#[inline(always)]
fn turned<T: Real, const W: usize>(rows: [&[T; W]; W]) -> [[T; W]; W] {
    let mut out = [[T::default(); W]; W];
    for i in 0..W {
        for j in 0..W {
            out[j][i] = rows[i][j];
        }
    }
    out
}

/// The `W` numbers from `k` on.
#[inline(always)]
fn part<T, const W: usize>(row: &[T], k: usize) -> &[T; W] {
    row[k..].first_chunk().expect("a whole part")
}

/// `panel[v K + k]` = fields `first + v W ..` at k. Fields past the last repeat the last.
#[inline(always)]
fn turn<T: Real, const FUSED: bool, const W: usize, const V: usize>(
    (right, first, fields): (&Rows<'_, T>, usize, usize),
    panel: &mut [Lanes<FUSED, T, W>],
) {
    let count = right.count;
    for v in 0..V {
        let panel = &mut panel[v * count..][..count];
        let mut rows: [&[T]; W] = [&[]; W];
        for i in 0..W {
            rows[i] = &right.row((first + v * W + i).min(fields - 1))[..count];
        }
        // Loads along k and stores along the fields: the compiler makes register transposes of this very loop.
        for k in 0..count {
            let mut column = [T::default(); W];
            for i in 0..W {
                column[i] = rows[i][k];
            }
            panel[k] = Lanes(column);
        }
    }
}

/// Rows `l .. l + H` of left times the panel.
#[inline(always)]
fn tile<T: Real, const FUSED: bool, const W: usize, const V: usize, const H: usize>(
    (left, l): (&Rows<'_, T>, usize),
    panel: &[Lanes<FUSED, T, W>],
    (first, fields): (usize, usize),
    out: &mut impl RowSink<T>,
) {
    let count = left.count;
    let panels: [&[Lanes<FUSED, T, W>]; V] = from_fn(|v| &panel[v * count..][..count]);
    let rows: [&[T]; H] = from_fn(|i| left.row(l + i));
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); V]; H];
    for k in 0..count {
        for i in 0..H {
            let a = Lanes::splat(rows[i][k]);
            for v in 0..V {
                sums[i][v] = a.mul_add(panels[v][k], sums[i][v]);
            }
        }
    }
    for i in 0..H {
        for v in 0..V {
            let r = first + v * W;
            if r + W <= fields {
                out.put(l + i, r, &sums[i][v].0);
            } else if r < fields {
                // A copy: what a variable length is taken of lies in memory, and the sums shall not.
                let some = sums[i][v].0;
                out.put(l + i, r, &some[..fields - r]);
            }
        }
    }
}

/// All left fields times `V W` right ones from `first` on, in strips of `H` rows, then of 4, 2 and 1.
#[inline(always)]
fn strips<T: Real, const FUSED: bool, const W: usize, const V: usize, const H: usize>(
    (left, left_fields): (&Rows<'_, T>, usize),
    (right, first, fields): (&Rows<'_, T>, usize, usize),
    panel: &mut [Lanes<FUSED, T, W>],
    out: &mut impl RowSink<T>,
) {
    let panel = &mut panel[..right.count * V];
    turn::<T, FUSED, W, V>((right, first, fields), panel);
    let (at, mut l) = ((first, fields), 0);
    while l + H <= left_fields {
        tile::<T, FUSED, W, V, H>((left, l), panel, at, out);
        l += H;
    }
    if H > 4 && l + 4 <= left_fields {
        tile::<T, FUSED, W, V, 4>((left, l), panel, at, out);
        l += 4;
    }
    if l + 2 <= left_fields {
        tile::<T, FUSED, W, V, 2>((left, l), panel, at, out);
        l += 2;
    }
    if l < left_fields {
        tile::<T, FUSED, W, V, 1>((left, l), panel, at, out);
    }
}

/// Scratch of [`field_field`], in vectors.
fn panel_len(count: usize) -> usize {
    3 * count
}

/// `out[l, r] = sum_k left[l, k] right[r, k]`, with `[L, R] = fields` and a panel of [`panel_len`].
///
/// Tiles of 8 x 1, 4 x 2 and 4 x 3 vectors: 8 to 12 sums, which hide the latency of two fused units and fit 16 registers.
#[inline(always)]
fn field_field<T: Real, const FUSED: bool, const W: usize>(
    fields: [usize; 2],
    left: &Rows<'_, T>,
    right: &Rows<'_, T>,
    panel: &mut [Lanes<FUSED, T, W>],
    out: &mut impl RowSink<T>,
) {
    let mut first = 0;
    while first < fields[1] {
        let (left, right) = ((left, fields[0]), (right, first, fields[1]));
        match (fields[1] - first).div_ceil(W) {
            1 => {
                strips::<T, FUSED, W, 1, 8>(left, right, panel, out);
                first += W;
            }
            2 | 4 => {
                strips::<T, FUSED, W, 2, 4>(left, right, panel, out);
                first += 2 * W;
            }
            _ => {
                strips::<T, FUSED, W, 3, 4>(left, right, panel, out);
                first += 3 * W;
            }
        }
    }
}

/// `out[i] = sum_k left[i, k] right[i, k]` for `W` pairs of rows.
#[inline(always)]
fn dots<T: Real, const FUSED: bool, const W: usize>(left: [&[T]; W], right: [&[T]; W]) -> [T; W] {
    let count = left[0].len();
    let whole = count / W * W;
    let mut sums = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    for k in (0..whole).step_by(W) {
        for i in 0..W {
            sums[i] = Lanes(*part(left[i], k)).mul_add(Lanes(*part(right[i], k)), sums[i]);
        }
    }
    if whole < count {
        for i in 0..W {
            let [mut a, mut b] = [Lanes::splat(T::default()); 2];
            for k in whole..count {
                (a.0[k - whole], b.0[k - whole]) = (left[i][k], right[i][k]);
            }
            sums[i] = a.mul_add(b, sums[i]);
        }
    }
    let mut columns = turned(from_fn(|i| &sums[i].0)).map(Lanes::<FUSED, T, W>);
    let mut width = W;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            columns[i] = columns[i] + columns[i + width];
        }
    }
    columns[0].0
}

/// One cell's output.
struct Cell<'a, 'b, T>(&'a mut Whole<'b, T>, usize, Sum);

impl<T: Real> RowSink<T> for Cell<'_, '_, T> {
    #[inline(always)]
    fn put(&mut self, l: usize, r: usize, sums: &[T]) {
        if self.0.strides[2] == 1 {
            return store(&mut self.0.from(self.1, l, r)[..sums.len()], sums, self.2);
        }
        for i in 0..sums.len() {
            store(&mut self.0.from(self.1, l, r + i)[..1], &sums[i..=i], self.2);
        }
    }
}

/// A cell's rows, where they lie or gathered.
struct Gather<T>(Vec<T>);

impl<T: Real> Gather<T> {
    #[inline(always)]
    fn rows<'a>(
        &'a mut self,
        operand: &Operand<'a, T>,
        offsets: &[usize],
        contiguous: bool,
        cell: usize,
    ) -> Rows<'a, T> {
        let (data, stride, count) = (operand.from_cell(cell), operand.shape.strides[1], offsets.len());
        if contiguous {
            return Rows::new(data, stride, count);
        }
        self.0.clear();
        for f in 0..operand.fields() {
            self.0.extend(offsets.iter().map(|offset| data[f * stride + offset]));
        }
        Rows::new(&self.0, count, count)
    }
}

/// Asks for the rows of a cell to come.
#[inline(always)]
fn prefetch_rows<T>(operand: &Operand<'_, T>, cell: usize, len: usize) {
    let start = cell * operand.shape.strides[0];
    for at in (0..len).step_by(64 / size_of::<T>()) {
        prefetch(operand.data, start + at);
    }
}

/// Computes a range of cells, each alone.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(job: &Job<'_, T>, cells: Range<usize>, out: &mut Whole<'_, T>) {
    let sizes = job.sizes();
    let contiguous = [0, 1].map(|side| job.offsets[side].iter().enumerate().all(|(k, &offset)| offset == k));
    if sizes[0] == 1 || sizes[1] == 1 {
        return products::<FUSED, W, T>(job, contiguous, cells, out);
    }
    let packed = contiguous == [true; 2] && job.operands.iter().all(|o| o.shape.strides[1] == sizes[2]);
    match sizes {
        [8, 8, 8] if packed => matrices::<FUSED, W, true, T>(job, [8, 8, 8], contiguous, cells, out),
        [8, 8, 24] if packed => matrices::<FUSED, W, true, T>(job, [8, 8, 24], contiguous, cells, out),
        [27, 27, 27] if packed => matrices::<FUSED, W, true, T>(job, [27, 27, 27], contiguous, cells, out),
        [27, 27, 81] if packed => matrices::<FUSED, W, true, T>(job, [27, 27, 81], contiguous, cells, out),
        _ => matrices::<FUSED, W, false, T>(job, sizes, contiguous, cells, out),
    }
}

/// Several fields on both sides. `PACKED` says that rows follow each other without gaps.
#[inline(always)]
fn matrices<const FUSED: bool, const W: usize, const PACKED: bool, T: Real>(
    job: &Job<'_, T>,
    [fields_left, fields_right, count]: [usize; 3],
    contiguous: [bool; 2],
    cells: Range<usize>,
    out: &mut Whole<'_, T>,
) {
    let [left, right] = &job.operands;
    let [mut gather_left, mut gather_right] = [Gather(Vec::new()), Gather(Vec::new())];
    let mut panel = vec![Lanes::splat(T::default()); panel_len(count)];
    let ahead = AHEAD.div_ceil(((fields_left + fields_right) * count * size_of::<T>()).max(1));
    for cell in cells.clone() {
        prefetch_rows(left, cell + ahead, fields_left * count);
        prefetch_rows(right, cell + ahead, fields_right * count);
        let mut sink = Cell(&mut *out, cell - cells.start, job.sum);
        let fields = [fields_left, fields_right];
        if PACKED {
            let left = Rows::new(&left.from_cell(cell)[..fields_left * count], count, count);
            let right = Rows::new(&right.from_cell(cell)[..fields_right * count], count, count);
            field_field::<T, FUSED, W>(fields, &left, &right, &mut panel, &mut sink);
        } else {
            let left = gather_left.rows(left, &job.offsets[0], contiguous[0], cell);
            let right = gather_right.rows(right, &job.offsets[1], contiguous[1], cell);
            field_field::<T, FUSED, W>(fields, &left, &right, &mut panel, &mut sink);
        }
    }
}

/// Bytes between what is computed and what is asked for.
const AHEAD: usize = 4096;

/// One field on a side, or on both: `W` dot products at a time, of neighbouring fields or cells.
#[inline(always)]
fn products<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    contiguous: [bool; 2],
    cells: Range<usize>,
    out: &mut Whole<'_, T>,
) {
    let [left, right] = &job.operands;
    let [fields_left, fields_right, _] = job.sizes();
    let (pairs, right_runs) = (fields_left.max(fields_right), fields_left == 1);
    let mut gathers: [[Gather<T>; 2]; W] = from_fn(|_| [Gather(Vec::new()), Gather(Vec::new())]);
    let step = if pairs == 1 { W } else { 1 };
    for cell in cells.clone().step_by(step) {
        let used = step.min(cells.end - cell);
        let mut rows: [[Rows<'_, T>; 2]; W] = [[Rows::new(&[], 0, 0); 2]; W];
        for (i, [a, b]) in gathers.iter_mut().enumerate().take(step) {
            let cell = cell + i.min(used - 1);
            rows[i] = [
                a.rows(left, &job.offsets[0], contiguous[0], cell),
                b.rows(right, &job.offsets[1], contiguous[1], cell),
            ];
        }
        if pairs == 1 {
            let sums = dots::<T, FUSED, W>(from_fn(|i| rows[i][0].row(0)), from_fn(|i| rows[i][1].row(0)));
            for i in 0..used {
                store(&mut out.from(cell + i - cells.start, 0, 0)[..1], &sums[i..=i], job.sum);
            }
            continue;
        }
        let [data, fields] = if right_runs { rows[0] } else { [rows[0][1], rows[0][0]] };
        for first in (0..pairs).step_by(W) {
            let sums = dots::<T, FUSED, W>([data.row(0); W], from_fn(|i| fields.row((first + i).min(pairs - 1))));
            let mut sink = Cell(&mut *out, cell - cells.start, job.sum);
            let some = W.min(pairs - first);
            if right_runs {
                sink.put(0, first, &sums[..some]);
            } else {
                (0..some).for_each(|i| sink.put(first + i, 0, &sums[i..=i]));
            }
        }
    }
}
