//! The fields of one operand in one cell as contiguous rows; rows with other strides are copied.

use super::operands::Operand;
use crate::space::lanes::Real;

/// The fields of one operand in one cell, `count` contiguous terms each.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    /// Terms per field (K).
    pub count: usize,
    /// Index of the last field.
    pub last: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Returns the row of a field; past the last field, the last row.
    #[inline(always)]
    pub fn row(&self, f: usize) -> &'a [T] {
        &self.data[f.min(self.last) * self.stride..][..self.count]
    }
}

/// Buffer for the rows of a cell that are not contiguous.
#[derive(Debug)]
pub struct Gather<T>(Vec<T>);

impl<T: Real> Gather<T> {
    /// An empty buffer, which grows at the first use.
    pub fn new() -> Self {
        Gather(Vec::new())
    }

    /// Returns the rows of a cell.
    #[inline(always)]
    pub fn rows<'a>(&'a mut self, operand: &Operand<'a, T>, cell: usize) -> Rows<'a, T> {
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

    /// Returns the row of an operand that has one field.
    #[inline(always)]
    pub fn only<'a>(&'a mut self, operand: &Operand<'a, T>, cell: usize) -> &'a [T] {
        let rows = self.rows(operand, cell);
        &rows.data[..rows.count]
    }
}
