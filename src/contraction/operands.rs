//! The operands of a contraction on the host, free of ranks and spaces.
//!
//! An operand is `[cell, field, k]`, with k over points and dimensions. Cells, fields, points and dimensions have any strides. The
//! `K = count` terms of a field are contiguous or not.

use super::shape::Shape;

/// One operand.
#[derive(Debug)]
pub struct Operand<'a, T> {
    /// The array, from the first item of the view on.
    pub data: &'a [T],
    /// Extents and strides.
    pub shape: Shape,
    /// Terms per field (K).
    pub count: usize,
    /// Extents of points and dimensions.
    pub extents: [usize; 3],
    /// Whether the terms of a field are contiguous.
    pub is_contiguous: bool,
}

impl<'a, T> Operand<'a, T> {
    /// An operand that is contracted over these points and dimensions.
    pub fn new(data: &'a [T], shape: Shape, extents: [usize; 3]) -> Self {
        let [points, rows, columns] = extents;
        let mut operand = Operand { data, shape, count: points * rows * columns, extents, is_contiguous: true };
        let packed = [rows * columns, columns, 1];
        let mut axes = extents.iter().zip(operand.strides()).zip(packed);
        operand.is_contiguous = axes.all(|((&extent, stride), packed)| extent == 1 || stride == packed);
        operand
    }

    /// Returns the strides of points and dimensions.
    #[inline(always)]
    pub fn strides(&self) -> [usize; 3] {
        let [.., row, column] = self.shape.strides;
        [self.shape.point_stride(), row, column]
    }

    /// Returns the data from a cell on.
    #[inline(always)]
    pub fn at_cell(&self, cell: usize) -> &'a [T] {
        &self.data[cell * self.cell_stride()..]
    }

    /// Returns the offset of each term from a field's first.
    pub fn offsets(&self) -> Vec<usize> {
        let ([points, rows, columns], [point, row, column]) = (self.extents, self.strides());
        let mut offsets = Vec::with_capacity(self.count);
        for p in 0..points {
            for i in 0..rows {
                offsets.extend((0..columns).map(|j| p * point + i * row + j * column));
            }
        }
        offsets
    }

    /// Returns the offset, within a cell, of term `k` of field `f`, given the offsets of terms. A `k` past the last term continues in
    /// the next field, for prefetches.
    #[inline(always)]
    pub fn number(&self, offsets: &[usize], f: usize, k: usize) -> usize {
        let count = self.count;
        let (f, k) = if k < count { (f, k) } else { (f + 1, (k - count).min(count - 1)) };
        f * self.field_stride() + offsets[k]
    }

    /// Returns the number of fields.
    #[inline(always)]
    pub fn fields(&self) -> usize {
        self.shape.extents[1]
    }

    /// Returns the least stride between fields and terms.
    pub fn row_stride(&self) -> usize {
        let axes = self.extents.into_iter().zip(self.strides()).chain([(self.fields(), self.field_stride())]);
        axes.filter(|&(extent, _)| extent > 1).map(|(_, stride)| stride).min().unwrap_or(0)
    }

    /// Whether cells, fields and terms are packed without gaps.
    pub fn is_packed(&self) -> bool {
        let field = self.count;
        self.is_contiguous && self.field_stride() == field && self.cell_stride() == self.fields() * field
    }

    /// Returns the stride between cells.
    #[inline(always)]
    pub fn cell_stride(&self) -> usize {
        self.shape.strides[0]
    }

    /// Returns the stride between the fields of a cell.
    #[inline(always)]
    pub fn field_stride(&self) -> usize {
        self.shape.strides[1]
    }
}

/// Left and right operand of one contraction, with the same K > 0.
#[derive(Debug)]
pub struct Operands<'a, T> {
    /// Left, right.
    pub pair: [Operand<'a, T>; 2],
    /// Whether the cells of both operands and of the output have stride 1.
    pub has_unit_cell_stride: bool,
    /// Whether the operands are larger than the caches near a core, so that prefetches pay.
    pub exceeds_cache: bool,
}
