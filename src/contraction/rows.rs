//! Contractions cell by cell: vectors hold fields, or terms of one sum.
//!
//! Several fields on both sides: the right rows are turned a panel at a time, so that a term's fields are neighbours, and
//! every sum is one chain over k. One field on a side: each number is used once and turning would cost more than the
//! products, so `W` partial sums (k modulo `W`) are added in pairs. Both orders depend on K and the processor alone.
//!
//! Shapes: left `[L, K]`, right `[R, K]`, out `[L, R]`. Cost: 2 L R K operations; turning moves the right rows once.

use super::job::{Job, Operand, Output, store};
use super::{Sum, hex8};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::array::from_fn;
use std::ops::Range;

/// The fields of one operand of one cell, each `count` numbers side by side.
#[derive(Clone, Copy, Debug)]
struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    count: usize,
    last: usize,
}

impl<'a, T> Rows<'a, T> {
    /// The row of a field; past the last, the last.
    #[inline(always)]
    fn row(&self, f: usize) -> &'a [T] {
        &self.data[f.min(self.last) * self.stride..][..self.count]
    }
}

/// Room for a cell's rows where they do not lie side by side.
#[derive(Debug)]
struct Gather<T>(Vec<T>);

impl<T: Real> Gather<T> {
    #[inline(always)]
    fn rows<'a>(&'a mut self, operand: &Operand<'a, T>, cell: usize) -> Rows<'a, T> {
        let (data, stride, count, last) =
            (operand.at_cell(cell), operand.field_stride(), operand.count, operand.fields() - 1);
        if operand.offsets.is_empty() {
            return Rows { data, stride, count, last };
        }
        self.0.clear();
        for f in 0..=last {
            self.0.extend(operand.offsets.iter().map(|offset| data[f * stride + offset]));
        }
        Rows { data: &self.0, stride: count, count, last }
    }

    /// The row of an operand of one field.
    #[inline(always)]
    fn only<'a>(&'a mut self, operand: &Operand<'a, T>, cell: usize) -> &'a [T] {
        let rows = self.rows(operand, cell);
        &rows.data[..rows.count]
    }
}

/// Bytes between what is computed and what is asked for, at least.
const AHEAD: usize = 4096;

/// What is asked for while a cell is computed: the numbers of one that follows, some lines at every [`STEP`] of k.
#[derive(Debug)]
struct Ahead<'a, T> {
    operands: [&'a [T]; 2],
    at: usize,
    step: usize,
}

/// Terms of a tile's sums between two calls of [`Ahead::ask`]: a line in `f64`.
const STEP: usize = 8;

impl<'a, T> Ahead<'a, T> {
    /// Items at a time of what `cells` cells have, asked for in `asks` parts; 0 where nothing is to be asked for.
    fn step(job: &Job<'a, T>, cells: usize, asks: usize) -> usize {
        let longest = job.operands.iter().map(|x| cells * x.fields() * x.count).max().unwrap_or(0);
        if job.streams { longest.div_ceil(asks).next_multiple_of(64 / size_of::<T>()) } else { 0 }
    }

    /// The numbers of some cells from `first` on, `step` items at a time.
    #[inline(always)]
    fn new(job: &Job<'a, T>, first: usize, cells: usize, step: usize) -> Self {
        if step == 0 {
            return Ahead { operands: [&[], &[]], at: 0, step };
        }
        let [left, right] = &job.operands;
        let of = |x: &Operand<'a, T>| {
            let start = (first * x.cell_stride()).min(x.data.len());
            &x.data[start..(start + cells * x.fields() * x.count).min(x.data.len())]
        };
        Ahead { operands: [of(left), of(right)], at: 0, step }
    }

    #[inline(always)]
    fn ask(&mut self) {
        if self.step == 0 {
            return;
        }
        for data in self.operands {
            for at in (self.at..(self.at + self.step).min(data.len())).step_by(64 / size_of::<T>()) {
                prefetch(data, at);
            }
        }
        self.at += self.step;
    }
}

/// Computes a range of cells.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &job.operands;
    let sizes = [left.fields(), right.fields(), left.count];
    let packed = left.is_packed() && right.is_packed() && out.strides == [sizes[0] * sizes[1], sizes[1], 1];
    match (sizes, W) {
        ([1, ..] | [_, 1, _], _) => return products::<FUSED, W, T>(job, cells, out),
        ([8, 8, 8], 4) if packed => return hex8::each::<8, FUSED, W, 2, 4, T>(job, cells, out),
        ([8, 8, 24], 4) if packed => return hex8::each::<24, FUSED, W, 2, 4, T>(job, cells, out),
        ([8, 8, 72], 4) if packed => return hex8::each::<72, FUSED, W, 2, 4, T>(job, cells, out),
        ([8, 8, 8], 8) if packed => return hex8::each::<8, FUSED, W, 1, 8, T>(job, cells, out),
        ([8, 8, 24], 8) if packed => return hex8::each::<24, FUSED, W, 1, 8, T>(job, cells, out),
        ([8, 8, 72], 8) if packed => return hex8::each::<72, FUSED, W, 1, 8, T>(job, cells, out),
        _ => {}
    }
    let [mut left_gather, mut right_gather] = [Gather(Vec::new()), Gather(Vec::new())];
    let count = left.count;
    let mut panel = vec![Lanes::splat(T::default()); WIDEST * count];
    let mut sums = vec![T::default(); SUMS * W];
    let cell_bytes = (left.fields() + right.fields()) * count * size_of::<T>();
    let cells_ahead = AHEAD.div_ceil(cell_bytes);
    // Of 8 x 1, or of 4 x 2 and 4 x 3 vectors.
    let tiles = match right.fields().div_ceil(W) {
        1 => left.fields().div_ceil(8),
        vectors => left.fields().div_ceil(4) * vectors.div_ceil(3),
    };
    let items = Ahead::step(job, 1, tiles * count.div_ceil(STEP));
    for cell in cells.clone() {
        let mut ahead = Ahead::new(job, cell + cells_ahead, 1, items);
        let (a, b) = (left_gather.rows(left, cell), right_gather.rows(right, cell));
        let c = cell - cells.start;
        let mut first = 0;
        while first <= b.last {
            first += W * match (b.last + 1 - first).div_ceil(W) {
                1 => strips::<FUSED, W, 1, 8, T>(&a, (&b, first), (&mut panel, &mut sums), &mut ahead, (out, c)),
                3 => strips::<FUSED, W, 3, 4, T>(&a, (&b, first), (&mut panel, &mut sums), &mut ahead, (out, c)),
                _ => strips::<FUSED, W, 2, 4, T>(&a, (&b, first), (&mut panel, &mut sums), &mut ahead, (out, c)),
            };
        }
    }
}

/// Vectors of fields in the widest panel, and of sums in the largest tile.
const WIDEST: usize = 3;
const SUMS: usize = 12;

/// All left fields times `V` vectors of right ones from `first` on, `H` left fields at a time. Gives `V`.
///
/// `V H` sums of 8 to 12 hide the latency of two fused units and leave room for the operands in 16 registers.
#[inline(always)]
fn strips<const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    left: &Rows<'_, T>,
    (right, first): (&Rows<'_, T>, usize),
    (panel, sums): (&mut [Lanes<FUSED, T, W>], &mut [T]),
    ahead: &mut Ahead<'_, T>,
    (out, cell): (&mut Output<'_, T>, usize),
) -> usize {
    let count = right.count;
    for v in 0..V {
        let mut rows = [&[][..]; W];
        for i in 0..W {
            rows[i] = right.row(first + v * W + i);
        }
        turn(rows, &mut panel[v * count..][..count]);
    }
    let ([_, l_stride, r_stride], sum) = (out.strides, out.sum);
    let out = out.cell(cell);
    let used = right.last + 1 - first;
    let whole = r_stride == 1 && used >= V * W && sum == Sum::Overwrite;
    for l in (0..=left.last).step_by(H) {
        let out = &mut out[l * l_stride + first * r_stride..];
        let (mut rows, mut columns) = ([&[][..]; H], [&[][..]; V]);
        for i in 0..H {
            rows[i] = left.row(l + i);
        }
        for v in 0..V {
            columns[v] = &panel[v * count..][..count];
        }
        let whole = whole && l + H <= left.last + 1;
        let (to, stride) = if whole { (&mut *out, l_stride) } else { (&mut *sums, V * W) };
        tile::<FUSED, W, V, H, T>(rows, columns, ahead, to, stride);
        if whole {
            continue;
        }
        for i in 0..H.min(left.last + 1 - l) {
            for j in 0..used.min(V * W) {
                let out = &mut out[i * l_stride + j * r_stride];
                let value = sums[i * V * W + j];
                *out = if sum == Sum::Into { *out + value } else { value };
            }
        }
    }
    V
}

/// `out[i stride + v W + lane] = sum_k rows[i][k] columns[v][k][lane]`.
#[inline(always)]
fn tile<const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    rows: [&[T]; H],
    columns: [&[Lanes<FUSED, T, W>]; V],
    ahead: &mut Ahead<'_, T>,
    out: &mut [T],
    stride: usize,
) {
    let count = rows[0].len();
    let (mut a_rows, mut b_columns) = ([&[][..]; H], [&[][..]; V]);
    for i in 0..H {
        a_rows[i] = &rows[i][..count];
    }
    for v in 0..V {
        b_columns[v] = &columns[v][..count];
    }
    let (rows, columns) = (a_rows, b_columns);
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); V]; H];
    for step in (0..count).step_by(STEP) {
        ahead.ask();
        for k in step..(step + STEP).min(count) {
            for i in 0..H {
                let a = Lanes::splat(rows[i][k]);
                for v in 0..V {
                    sums[i][v] = a.mul_add(columns[v][k], sums[i][v]);
                }
            }
        }
    }
    for i in 0..H {
        let out = &mut out[i * stride..][..V * W];
        for v in 0..V {
            *out[v * W..].first_chunk_mut().expect("a vector") = sums[i][v].0;
        }
    }
}

/// `columns[k][i] = rows[i][k]`: loads along k and stores along i, which the compiler makes transposes in registers of.
#[inline(always)]
fn turn<const FUSED: bool, const W: usize, T: Real>(rows: [&[T]; W], columns: &mut [Lanes<FUSED, T, W>]) {
    let mut all = [&[][..]; W];
    for i in 0..W {
        all[i] = &rows[i][..columns.len()];
    }
    let rows = all;
    for k in 0..columns.len() {
        let mut column = [T::default(); W];
        for i in 0..W {
            column[i] = rows[i][k];
        }
        columns[k] = Lanes(column);
    }
}

/// One field on a side: `W` sums at a time, of neighbouring fields, or of neighbouring cells where there is one each.
#[inline(always)]
fn products<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &job.operands;
    let ([cell_stride, l_stride, r_stride], sum) = (out.strides, out.sum);
    let fields = left.fields().max(right.fields());
    let step = if fields == 1 { W } else { 1 };
    let cells_ahead = AHEAD.div_ceil((left.fields() + right.fields()) * left.count * size_of::<T>());
    let items = Ahead::step(job, step, fields.div_ceil(W) * left.count.div_ceil(W));
    let mut gathers: [[Gather<T>; 2]; W] = from_fn(|_| [Gather(Vec::new()), Gather(Vec::new())]);
    for cell in cells.clone().step_by(step) {
        let used = step.min(cells.end - cell);
        let out = out.cell(cell - cells.start);
        let mut ahead = Ahead::new(job, cell + cells_ahead, step, items);
        // One of both has one field, which stands beside all of the other's.
        let stride = if fields == 1 {
            cell_stride
        } else if left.fields() > 1 {
            l_stride
        } else {
            r_stride
        };
        let [a, b] = &mut gathers[0];
        if fields > 1 {
            let (a, b) = (a.rows(left, cell), b.rows(right, cell));
            for f in (0..fields).step_by(W) {
                let mut pairs = [[&[][..]; W]; 2];
                for i in 0..W {
                    (pairs[0][i], pairs[1][i]) = (a.row(f + i), b.row(f + i));
                }
                let sums = dots::<FUSED, W, T>(pairs[0], pairs[1], &mut ahead);
                store(&mut out[f * stride..], stride, &sums, fields - f, sum);
            }
            continue;
        }
        let mut pairs = [[&[][..]; W]; 2];
        for (i, [a, b]) in gathers.iter_mut().enumerate() {
            let cell = cell + i.min(used - 1);
            (pairs[0][i], pairs[1][i]) = (a.only(left, cell), b.only(right, cell));
        }
        store(out, stride, &dots::<FUSED, W, T>(pairs[0], pairs[1], &mut ahead), used, sum);
    }
}

/// `out[i] = sum_k left[i][k] right[i][k]`. Loops, not closures, which may be left behind as functions of their own.
#[inline(always)]
fn dots<const FUSED: bool, const W: usize, T: Real>(
    left: [&[T]; W],
    right: [&[T]; W],
    ahead: &mut Ahead<'_, T>,
) -> [T; W] {
    let count = left[0].len();
    let (mut rows, mut others) = ([&[][..]; W], [&[][..]; W]);
    for i in 0..W {
        (rows[i], others[i]) = (&left[i][..count], &right[i][..count]);
    }
    let rest = count % W;
    // Before the sums, which are in registers as long as nothing else looks at them.
    let mut ends = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    if rest > 0 {
        for i in 0..W {
            ends[i] = end(rows[i], rest) * end(others[i], rest);
        }
    }
    let mut sums = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    #[allow(clippy::manual_memcpy)]
    for i in 0..W {
        sums[i] = ends[i];
    }
    let mut k = 0;
    while k + W <= count {
        ahead.ask();
        for i in 0..W {
            let a = Lanes(*rows[i][k..].first_chunk().expect("a whole part"));
            let b = Lanes(*others[i][k..].first_chunk().expect("a whole part"));
            sums[i] = a.mul_add(b, sums[i]);
        }
        k += W;
    }
    let mut columns = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    for i in 0..W {
        for j in 0..W {
            columns[j].0[i] = sums[i].0[j];
        }
    }
    let mut width = W;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            let other = columns[i + width];
            columns[i] += other;
        }
    }
    columns[0].0
}

/// The last `rest` of a row, fewer than `W`, at the end of a vector of zeros.
#[inline(always)]
fn end<const FUSED: bool, const W: usize, T: Real>(row: &[T], rest: usize) -> Lanes<FUSED, T, W> {
    let mut end = Lanes::splat(T::default());
    if let Some(last) = row.last_chunk::<W>() {
        for i in 0..W {
            end.0[i] = if i + rest >= W { last[i] } else { T::default() };
        }
    } else {
        end.0[W - rest..].copy_from_slice(row);
    }
    end
}
