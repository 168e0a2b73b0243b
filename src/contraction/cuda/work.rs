//! One contraction on a GPU: sizes, strides and alignment, from which a launch is configured.

use super::super::shape::Shape;

/// Threads per warp.
pub const WARP: usize = 32;

/// The contracted index as nested extents (p, i, j), with strides of both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Outer, middle, inner.
    pub extents: [usize; 3],
    /// Of left and of right.
    pub strides: [[usize; 3]; 2],
}

impl Terms {
    /// The terms of two operands. Adjacent extents that are contiguous with each other in both operands are merged, towards the
    /// inner end.
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

    /// Returns the number of terms, saturating.
    pub fn count(&self) -> usize {
        self.extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }

    /// Returns whether the terms are contiguous in both operands.
    pub fn are_packed(&self) -> bool {
        self.extents[..2] == [1, 1] && (self.extents[2] == 1 || self.strides.iter().all(|side| side[2] == 1))
    }
}

crate::space::named_choice! { "contraction family";
    /// Which operands of a contraction have fields.
    #[derive(Hash)]
    pub enum Family {
        /// Both.
        FieldField = "field_field",
        /// The right one.
        DataField = "data_field",
        /// None.
        DataData = "data_data",
    }
}

/// One contraction with everything that its launch depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    pub family: Family,
    /// Cells, left fields, right fields.
    pub sizes: [usize; 3],
    /// Points, dims, dims.
    pub contracted: [usize; 3],
    pub terms: Terms,
    /// Bytes per number.
    pub item: usize,
    /// Largest power of two up to 16 that divides the addresses of all input rows.
    pub alignment: usize,
    /// Whether the rows of a cell are contiguous in both operands.
    pub is_line: bool,
    /// Whether pairs of right fields are contiguous and aligned to 16 bytes.
    pub pairs: bool,
    /// Whether the outputs of a cell are contiguous and aligned to 16 bytes.
    pub is_output_line: bool,
    /// Whether cells have the smallest stride in at least two of the three arrays.
    pub by_cells: bool,
}

/// Properties of a device that variants depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Largest shared memory of a block, in bytes.
    pub shared: usize,
    /// Capability 8.0 or later: asynchronous copies to shared memory, f64 tensor cores.
    pub ampere: bool,
}

impl Work {
    /// Describes the contraction of two operands to an output `[cell, left field, right field]`, with addresses.
    /// `fields` says which operand has fields.
    pub fn new(fields: [bool; 2], inputs: [(u64, &Shape); 2], out: (u64, [usize; 3]), item: usize) -> Self {
        let [(a_address, a), (b_address, b)] = inputs;
        let (out_address, [to_cell, to_left, to_right]) = out;
        let [cells, left, right] = [b.extents[0], a.extents[1], b.extents[1]];
        let rows = |address: u64, shape: &Shape| {
            alignment(address, &[(shape.extents[0], shape.strides[0]), (shape.extents[1], shape.strides[1])], item)
        };
        let terms = Terms::new(a, b);
        let near = [
            nearest_cells(&a.extents, &a.strides),
            nearest_cells(&b.extents, &b.strides),
            nearest_cells(&[cells, left, right], &[to_cell, to_left, to_right]),
        ];
        Work {
            family: match fields {
                [true, _] => Family::FieldField,
                [false, true] => Family::DataField,
                [false, false] => Family::DataData,
            },
            sizes: [cells, left, right],
            contracted: [b.extents[2], b.extents[3], b.extents[4]],
            terms,
            item,
            alignment: rows(a_address, a).min(rows(b_address, b)),
            is_line: [a, b].iter().all(|x| x.extents[1] == 1 || x.strides[1] == terms.count()),
            pairs: alignment(out_address, &[(cells, to_cell), (left, to_left)], item) == 16 && to_right == 1,
            is_output_line: alignment(out_address, &[(cells, to_cell)], item) == 16
                && (right == 1 || to_right == 1)
                && (left == 1 || to_left == right),
            by_cells: near.into_iter().filter(|near| *near).count() > 1,
        }
    }

    /// Returns the outputs per cell.
    pub fn outputs(&self) -> usize {
        self.sizes[1] * self.sizes[2]
    }

    /// Returns the threads for a single output: one per index of the last `count` contracted extents above 1.
    pub fn last(&self, count: usize) -> usize {
        let there = self.contracted.iter().rev().filter(|&&extent| extent > 1);
        there.take(count).product::<usize>().clamp(1, 1024)
    }

    /// Returns the items per 16-byte vector if rows consist of whole, aligned vectors; else 1.
    pub fn vector(&self) -> usize {
        let vector = 16 / self.item;
        if self.alignment == 16 && self.terms.count().is_multiple_of(vector) { vector } else { 1 }
    }

    /// Returns the bytes of all three arrays, each number once, saturating.
    pub fn bytes(&self) -> usize {
        let [cells, left, right] = self.sizes;
        let inputs = (left + right).saturating_mul(self.terms.count());
        cells.saturating_mul(inputs.saturating_add(left * right)).saturating_mul(self.item)
    }
}

/// Returns whether no other index has a smaller stride than the cells.
fn nearest_cells(extents: &[usize], strides: &[usize]) -> bool {
    (1..extents.len()).all(|d| extents[d] < 2 || strides[0] < strides[d])
}

/// Returns the largest power of two, up to 16, that divides the addresses of all rows. `rows` holds extent and stride of each
/// index that distinguishes rows. Wrapping: a view without items may have any strides.
fn alignment(address: u64, rows: &[(usize, usize)], item: usize) -> usize {
    let strides = rows.iter().filter(|(extent, _)| *extent > 1).map(|(_, stride)| stride.wrapping_mul(item) as u64);
    1 << strides.fold(address | 16, |bits, stride| bits | stride).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Layout, View};

    #[test]
    fn alignment_is_the_largest_that_all_rows_have() {
        assert_eq!(alignment(64, &[(5, 192), (8, 24)], 8), 16);
        assert_eq!(alignment(64, &[(5, 81), (9, 9)], 8), 8);
        assert_eq!(alignment(64, &[(5, 81), (1, 9)], 4), 4);
        assert_eq!(alignment(72, &[(1, 1)], 8), 8);
        assert_eq!(alignment(64, &[(1, 81), (1, 9)], 4), 16);
    }

    /// A view without items may have any strides.
    #[test]
    fn views_without_items_may_have_any_strides() {
        for (extents, fields) in [([0, 5, 7, 3, 2], 5), ([9, 0, 7, 3, 2], 0), ([9, 5, 0, 3, 2], 5)] {
            let nothing = Shape::new(&View::with_strides(&[0u8; 0], extents, [usize::MAX; 5]).unwrap(), true);
            let out = [usize::MAX, usize::MAX, 1];
            let work = Work::new([true; 2], [(64, &nothing), (64, &nothing)], (64, out), 8);
            assert_eq!((work.sizes, work.contracted), ([extents[0], fields, fields], [extents[2], 3, 2]));
        }
    }

    #[test]
    fn threads_of_a_single_output_share_its_last_indices() {
        let of = |extents: [usize; 4]| {
            let shape = shape(extents, Layout::Right.strides(extents));
            let work = Work::new([false; 2], [(64, &shape), (64, &shape)], (64, [1, 0, 0]), 8);
            [work.last(1), work.last(2)]
        };
        assert_eq!(of([2, 1500, 1, 1]), [1024, 1024]);
        assert_eq!(of([2, 100, 3, 1]), [3, 300]);
        assert_eq!(of([2, 100, 3, 2]), [2, 6]);
        assert_eq!(of([2, 1, 1, 1]), [1, 1]);
    }

    fn shape<const R: usize>(extents: [usize; R], strides: [usize; R]) -> Shape {
        Shape::new(&View::with_strides(&[0u8; 100_000], extents, strides).unwrap(), R == 5)
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
