//! The operands of a contraction on the host, free of ranks and spaces.
//!
//! An operand is `[cell, field, k]`, with k over points and dimensions. Cells and fields have strides. The `K = count` terms
//! of a field are contiguous, or lie at a table of offsets, so that any strides are possible.

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
    /// The offset of each term from a field's first; empty if the terms are contiguous.
    pub offsets: Vec<usize>,
}

impl<'a, T> Operand<'a, T> {
    /// An operand that is contracted over these points and dimensions. `needs_offsets` asks for the table of offsets even if
    /// the terms are contiguous.
    pub fn new(data: &'a [T], shape: Shape, [points, rows, columns]: [usize; 3], needs_offsets: bool) -> Self {
        let [.., row, column] = shape.strides;
        let point = shape.point_stride();
        let count = points * rows * columns;
        let packed = [(columns, column, 1), (rows, row, columns), (points, point, rows * columns)];
        let is_contiguous = packed.iter().all(|&(extent, stride, wanted)| extent == 1 || stride == wanted);
        let mut offsets = Vec::new();
        if needs_offsets || !is_contiguous {
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

    /// Returns the data from a cell on.
    #[inline(always)]
    pub fn at_cell(&self, cell: usize) -> &'a [T] {
        &self.data[cell * self.cell_stride()..]
    }

    /// Returns the offset, within a cell, of term `k` of field `f`. A `k` past the last term continues in the next field, for
    /// prefetches.
    #[inline(always)]
    pub fn number(&self, f: usize, k: usize) -> usize {
        let count = self.count;
        let (f, k) = if k < count { (f, k) } else { (f + 1, (k - count).min(count - 1)) };
        f * self.field_stride() + self.offsets[k]
    }

    /// Returns the common stride of the terms, if they have one. Needs the table of offsets.
    pub fn term_stride(&self) -> Option<usize> {
        let stride = self.offsets.get(1).map_or(0, |second| second - self.offsets[0]);
        self.offsets.windows(2).all(|pair| pair[1] == pair[0] + stride).then_some(stride)
    }

    /// Returns the least distance between rows of cells.
    pub fn row_stride(&self) -> usize {
        let next_term = self.offsets.get(1).copied().unwrap_or(usize::MAX);
        if self.fields() > 1 { next_term.min(self.field_stride()) } else { next_term }
    }

    /// Returns the number of fields.
    #[inline(always)]
    pub fn fields(&self) -> usize {
        self.shape.extents[1]
    }

    /// Whether cells, fields and terms are packed without gaps.
    pub fn is_packed(&self) -> bool {
        let field = self.count;
        self.offsets.is_empty() && self.field_stride() == field && self.cell_stride() == self.fields() * field
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
    /// Whether the operands are larger than the caches near a core, so that prefetches pay.
    pub exceeds_cache: bool,
}
