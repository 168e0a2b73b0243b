//! Shapes of one rank for all nine contractions: operands are `[cell, field, point, dim, dim]`, outputs
//! `[cell, left field, right field]`.

use crate::space::Strided;

/// Extents and strides of an operand. An index that the operand lacks has extent 1 and stride 0.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub extents: [usize; 5],
    pub strides: [usize; 5],
}

impl Shape {
    /// The shape of a view. `with_fields` says whether the second index of the view is the field.
    pub fn new<A, const RANK: usize>(view: &Strided<A, RANK>, with_fields: bool) -> Self {
        let (mut extents, mut strides) = ([1; 5], [0; 5]);
        for from in 0..RANK {
            let to = if from == 0 || with_fields { from } else { from + 1 };
            (extents[to], strides[to]) = (view.extents()[from], view.strides()[from]);
        }
        Shape { extents, strides }
    }

    /// Returns the stride between points: 0 if one point holds at all points.
    pub fn point_stride(&self) -> usize {
        if self.extents[2] == 1 { 0 } else { self.strides[2] }
    }
}

/// Returns the strides `[cell, left field, right field]` of an output.
pub fn out_strides<A, const RANK: usize>(out: &Strided<A, RANK>) -> [usize; 3] {
    match out.strides()[..] {
        [cell] => [cell, 0, 0],
        [cell, field] => [cell, 0, field],
        [cell, left, right, ..] => [cell, left, right],
        [] => [0; 3],
    }
}
