//! What is to be contracted, free of ranks and spaces, and the compiled kernels of each type: here and nowhere else, so
//! that a crate that calls the nine does not compile them again.

use super::shape::Shape;
use super::{Sum, cells, rows};
use crate::space::lanes::{Known, OfReal, Real};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::marker::PhantomData;
use std::ops::Range;

/// An input: `count` numbers a field.
#[derive(Debug)]
pub struct Operand<'a, T> {
    pub data: &'a [T],
    pub shape: Shape,
    pub count: usize,
    /// The offset of each number from a field's first; empty where numbers lie side by side.
    pub offsets: Vec<usize>,
}

impl<'a, T> Operand<'a, T> {
    /// An input that is contracted over these points and dimensions.
    pub fn new(data: &'a [T], shape: Shape, [points, rows, columns]: [usize; 3], cells_side_by_side: bool) -> Self {
        let [.., row, column] = shape.strides;
        let point = shape.point_stride();
        let count = points * rows * columns;
        let packed = [(columns, column, 1), (rows, row, columns), (points, point, rows * columns)];
        let side_by_side = packed.iter().all(|&(extent, stride, wanted)| extent == 1 || stride == wanted);
        let mut offsets = Vec::new();
        if cells_side_by_side || !side_by_side {
            offsets.reserve_exact(count);
            for p in 0..points {
                for i in 0..rows {
                    for j in 0..columns {
                        offsets.push(p * point + i * row + j * column);
                    }
                }
            }
        }
        Operand { data, shape, count, offsets }
    }

    /// What begins at a cell.
    #[inline(always)]
    pub fn at_cell(&self, cell: usize) -> &'a [T] {
        &self.data[cell * self.cell_stride()..]
    }

    /// Offset of a field's k-th number in a cell; past its last, of the next field's.
    #[inline(always)]
    pub fn number(&self, f: usize, k: usize) -> usize {
        let count = self.count;
        let (f, k) = if k < count { (f, k) } else { (f + 1, (k - count).min(count - 1)) };
        f * self.field_stride() + self.offsets[k]
    }

    #[inline(always)]
    pub fn fields(&self) -> usize {
        self.shape.extents[1]
    }

    /// Whether its cells and fields lie side by side, nothing between.
    pub fn is_packed(&self) -> bool {
        let field = self.count;
        self.offsets.is_empty() && self.field_stride() == field && self.cell_stride() == self.fields() * field
    }

    #[inline(always)]
    pub fn cell_stride(&self) -> usize {
        self.shape.strides[0]
    }

    #[inline(always)]
    pub fn field_stride(&self) -> usize {
        self.shape.strides[1]
    }
}

/// Two operands of as many contraction indices, none of them empty.
#[derive(Debug)]
pub struct Job<'a, T> {
    pub operands: [Operand<'a, T>; 2],
    /// Whether neighbouring cells are neighbours in all three arrays.
    pub side_by_side: bool,
    /// Whether the operands are larger than caches near the core.
    pub streams: bool,
}

/// Where the sums of a range of cells go, `c` counted from its first.
#[derive(Debug)]
pub struct Output<'a, T> {
    /// One slice, or the range's cells of each (l, r).
    pub planes: Vec<&'a mut [T]>,
    /// From a plane to that of the next l and r.
    pub plane_strides: [usize; 2],
    /// In a plane, `[c, l, r]`.
    pub strides: [usize; 3],
    pub sum: Sum,
}

impl<'a, T: Real> Output<'a, T> {
    /// One slice, from the first cell's item on.
    pub fn whole(data: &'a mut [T], strides: [usize; 3], sum: Sum) -> Self {
        Output { planes: vec![data], plane_strides: [0; 2], strides, sum }
    }

    /// [`Layout::Left`](crate::space::Layout::Left) in pieces of `piece` cells; `strides` are those of the whole.
    pub fn split(data: &'a mut [T], cells: usize, piece: usize, strides: [usize; 3], sum: Sum) -> Vec<Self> {
        let plane_strides = [strides[1] / cells, strides[2] / cells];
        let empty = || Output { planes: Vec::new(), plane_strides, strides: [1, 0, 0], sum };
        let mut pieces: Vec<Self> = (0..cells.div_ceil(piece)).map(|_| empty()).collect();
        for plane in data.chunks_mut(cells) {
            for (piece, part) in pieces.iter_mut().zip(plane.chunks_mut(piece)) {
                piece.planes.push(part);
            }
        }
        pieces
    }

    /// What begins at out[c, 0, 0], where there is one slice.
    #[inline(always)]
    pub fn cell(&mut self, c: usize) -> &mut [T] {
        &mut self.planes[0][c * self.strides[0]..]
    }

    /// What begins at out[c, l, r].
    #[inline(always)]
    pub fn at(&mut self, c: usize, l: usize, r: usize) -> &mut [T] {
        let plane = l * self.plane_strides[0] + r * self.plane_strides[1];
        &mut self.planes[plane][c * self.strides[0] + l * self.strides[1] + r * self.strides[2]..]
    }
}

/// The first `used` values (all where there are fewer) become or are added to the items `stride` apart.
#[inline(always)]
pub fn store<T: Real, const N: usize>(out: &mut [T], stride: usize, values: &[T; N], used: usize, sum: Sum) {
    if let (true, true, Some(out)) = (stride == 1, used >= N, out.first_chunk_mut::<N>()) {
        match sum {
            Sum::Overwrite => *out = *values,
            Sum::Into => {
                for i in 0..N {
                    out[i] = out[i] + values[i];
                }
            }
        }
        return;
    }
    for i in 0..used.min(N) {
        let out = &mut out[i * stride];
        *out = if sum == Sum::Into { *out + values[i] } else { values[i] };
    }
}

/// A job and where its results go.
struct Call<'a, 'b>(PhantomData<&'a &'b ()>);

impl<'a, 'b: 'a> OfReal for Call<'a, 'b> {
    type Of<T: Real> = (&'a Job<'a, T>, &'a mut Output<'b, T>);
}

/// Computes a range of cells, by functions that are compiled here and not again by those who call.
pub fn contract<T: Real>(job: &Job<'_, T>, cells: Range<usize>, out: &mut Output<'_, T>) {
    match (T::known::<Call<'_, '_>>((job, out)), job.side_by_side) {
        (Known::F64((job, out)), true) => cells_f64(job, cells, out),
        (Known::F32((job, out)), true) => cells_f32(job, cells, out),
        (Known::F64((job, out)), false) => rows_f64(job, cells, out),
        (Known::F32((job, out)), false) => rows_f32(job, cells, out),
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
// Not seen to be fast are 16 fields of f32 in a vector, of which eight leave half empty, and eight of f64, which LLVM turns
// by scatters: there processors with AVX-512 take the version before.

/// Vectors of cells.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn cells_f64(job: &Job<'_, f64>, cells: Range<usize>, out: &mut Output<'_, f64>) {
    match_target! {
        "x86_64+avx512f" => cells::each::<true, 8, f64>(job, cells, out),
        "x86_64+fma" => cells::each::<true, 4, f64>(job, cells, out),
        _ => cells::each::<false, 2, f64>(job, cells, out),
    }
}

/// Vectors of cells.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn cells_f32(job: &Job<'_, f32>, cells: Range<usize>, out: &mut Output<'_, f32>) {
    match_target! {
        "x86_64+fma" => cells::each::<true, 8, f32>(job, cells, out),
        _ => cells::each::<false, 4, f32>(job, cells, out),
    }
}

/// Vectors of fields.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn rows_f64(job: &Job<'_, f64>, cells: Range<usize>, out: &mut Output<'_, f64>) {
    match_target! {
        "x86_64+fma" => rows::each::<true, 4, f64>(job, cells, out),
        _ => rows::each::<false, 2, f64>(job, cells, out),
    }
}

/// Vectors of fields.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn rows_f32(job: &Job<'_, f32>, cells: Range<usize>, out: &mut Output<'_, f32>) {
    match_target! {
        "x86_64+fma" => rows::each::<true, 8, f32>(job, cells, out),
        _ => rows::each::<false, 4, f32>(job, cells, out),
    }
}
