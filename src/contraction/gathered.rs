//! The fields of one operand of one cell as rows of numbers side by side, copied where they do not lie so.

use super::job::Operand;
use crate::space::lanes::Real;

/// The fields of one operand of one cell, each `count` numbers side by side.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    /// Numbers of a field.
    pub count: usize,
    /// Fields less one.
    pub last: usize,
}

impl<'a, T> Rows<'a, T> {
    /// The row of a field; past the last, the last.
    #[inline(always)]
    pub fn row(&self, f: usize) -> &'a [T] {
        &self.data[f.min(self.last) * self.stride..][..self.count]
    }
}

/// Room for a cell's rows where they do not lie side by side.
#[derive(Debug)]
pub struct Gather<T>(Vec<T>);

impl<T: Real> Gather<T> {
    /// Room for nothing yet.
    pub fn new() -> Self {
        Gather(Vec::new())
    }

    /// The rows of a cell.
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

    /// The row of an operand of one field.
    #[inline(always)]
    pub fn only<'a>(&'a mut self, operand: &Operand<'a, T>, cell: usize) -> &'a [T] {
        let rows = self.rows(operand, cell);
        &rows.data[..rows.count]
    }
}
