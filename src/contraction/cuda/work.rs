//! One contraction as its launcher sees it.

use super::super::shape::Shape;

/// Threads of a warp.
pub const WARP: usize = 32;

/// The contraction index: three nested extents in the order of (p, i, j), and the strides of left and right along them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    pub extents: [usize; 3],
    pub strides: [[usize; 3]; 2],
}

impl Terms {
    /// Of two operands. Neighbouring extents that both operands have in one line become one, at the inner end.
    pub fn new(left: &Shape, right: &Shape) -> Self {
        let [_, _, extents @ ..] = right.extents;
        let along = |shape: &Shape| [shape.point_stride(), shape.strides[3], shape.strides[4]];
        let strides = [along(left), along(right)];
        // Wrapping: a view without items may have any strides.
        let mut terms = Terms { extents: [1; 3], strides: [[0; 3]; 2] };
        let mut to = 3;
        for from in (0..3).rev().filter(|&d| extents[d] != 1) {
            let in_line = |side: usize| strides[side][from] == terms.extents[to].wrapping_mul(terms.strides[side][to]);
            if to < 3 && in_line(0) && in_line(1) {
                terms.extents[to] *= extents[from];
            } else {
                to -= 1;
                terms.extents[to] = extents[from];
                (0..2).for_each(|side| terms.strides[side][to] = strides[side][from]);
            }
        }
        terms
    }

    /// Their number; saturating.
    pub fn count(&self) -> usize {
        self.extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }

    /// Whether both operands have them side by side.
    pub fn are_packed(&self) -> bool {
        self.extents[..2] == [1, 1] && (self.extents[2] == 1 || self.strides.iter().all(|side| side[2] == 1))
    }
}

/// Which of the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    FieldField,
    DataField,
    DataData,
}

/// One contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    pub family: Family,
    /// Cells, left fields, right fields.
    pub sizes: [usize; 3],
    /// Points, dims, dims.
    pub contracted: [usize; 3],
    pub terms: Terms,
    /// Bytes of a number.
    pub item: usize,
    /// Largest power of two, up to 16, that the addresses of all rows of both inputs are multiples of.
    pub alignment: usize,
    /// Whether the rows of a cell follow each other without gaps in both operands.
    pub is_line: bool,
    /// Whether outputs with even right fields lie at multiples of 16 bytes, the next field beside each.
    pub pairs: bool,
    /// Whether the outputs of a cell follow each other without gaps and begin at a multiple of 16 bytes.
    pub is_output_line: bool,
    /// Whether cells are side by side in at least two of the three arrays.
    pub by_cells: bool,
}

/// What a device has that variants ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    pub multiprocessors: usize,
    /// Bytes of shared memory of a block.
    pub shared: usize,
    /// f64 tensor cores.
    pub dmma: bool,
}

impl Work {
    /// Outputs of a cell.
    pub fn outputs(&self) -> usize {
        self.sizes[1] * self.sizes[2]
    }

    /// Items of a vector of 16 bytes, where rows are of whole ones at their multiples; else 1.
    pub fn vector(&self) -> usize {
        let vector = 16 / self.item;
        if self.alignment == 16 && self.terms.count().is_multiple_of(vector) { vector } else { 1 }
    }

    /// Bytes of all three arrays, each number once.
    pub fn bytes(&self) -> usize {
        let [cells, left, right] = self.sizes;
        cells * ((left + right) * self.terms.count() + left * right) * self.item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Layout, View};

    fn shape<const R: usize>(extents: [usize; R], strides: [usize; R]) -> Shape {
        Shape::new(&View::strided(&[0u8; 100_000], extents, strides).unwrap(), true)
    }

    #[test]
    fn lines_of_terms_are_merged_where_both_have_them() {
        let extents = [9, 5, 7, 3, 2];
        let right = shape(extents, Layout::Right.strides(extents));
        let terms = Terms::new(&right, &right);
        assert_eq!(terms, Terms { extents: [1, 1, 42], strides: [[0, 0, 1]; 2] });
        assert!(terms.are_packed());
        let left = shape(extents, Layout::Left.strides(extents));
        assert_eq!(Terms::new(&left, &right).extents, [7, 3, 2]);
        assert!(!Terms::new(&left, &right).are_packed());
        let one = Terms::new(&shape([9, 5, 1, 3, 2], [30, 6, 17, 2, 1]), &right);
        assert_eq!(one, Terms { extents: [1, 7, 6], strides: [[0, 0, 1], [0, 6, 1]] });
        let none = [9, 5, 0, 3, 2];
        let none = Terms::new(&shape(none, [1; 5]), &shape(none, [1; 5]));
        assert_eq!(none.count(), 0);
    }
}
