//! Every operand as `[cell, field, point, dim, dim]`, every output as `[cell, left field, right field]`.

use crate::space::Strided;

/// Extents and strides of an operand; indices that it lacks have extent 1 and stride 0.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub extents: [usize; 5],
    pub strides: [usize; 5],
}

impl Shape {
    /// `with_fields` says whether the view's second index is the field.
    pub fn new<const RANK: usize>(view: &impl Strided<RANK>, with_fields: bool) -> Self {
        let (mut extents, mut strides) = ([1; 5], [0; 5]);
        for from in 0..RANK {
            let to = if from == 0 || with_fields { from } else { from + 1 };
            (extents[to], strides[to]) = (view.extents()[from], view.strides()[from]);
        }
        Shape { extents, strides }
    }

    /// Stride along the points: one point stands for all.
    pub fn point_stride(&self) -> usize {
        if self.extents[2] == 1 { 0 } else { self.strides[2] }
    }
}

/// Strides `[cell, left field, right field]` of an output.
pub fn out_strides<const RANK: usize>(out: &impl Strided<RANK>) -> [usize; 3] {
    match out.strides()[..] {
        [cell] => [cell, 0, 0],
        [cell, field] => [cell, 0, field],
        [cell, left, right, ..] => [cell, left, right],
        [] => [0; 3],
    }
}
