//! The reference: naive loops over index tuples, independent of views and strides; shared with the tests on a GPU.

use super::arrays::{Array, indices};
use crate::space::lanes::Real;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    FieldField,
    DataField,
    DataData,
}

/// Extents of a case; a contraction takes as many of `dims` as it has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub cells: usize,
    pub fields: [usize; 2],
    pub points: usize,
    pub dims: [usize; 2],
    /// Of the data of a data-field contraction: `points`, or 1.
    pub data_points: usize,
}

/// One of the nine: its form and the indices after the points.
#[derive(Clone, Copy, Debug)]
pub struct Formula(pub Form, pub usize);

impl Formula {
    /// Extents of both inputs and the output.
    pub fn extents(self, sizes: &Sizes) -> [Vec<usize>; 3] {
        let Sizes { cells, fields: [left, right], points, dims, data_points } = *sizes;
        let field = |count| [&[cells, count, points][..], &dims[..self.1]].concat();
        let data = |points| [&[cells, points][..], &dims[..self.1]].concat();
        match self.0 {
            Form::FieldField => [field(left), field(right), vec![cells, left, right]],
            Form::DataField => [data(data_points), field(right), vec![cells, right]],
            Form::DataData => [data(points), data(points), vec![cells]],
        }
    }

    /// Calls `entry` with each output index and the pairs of numbers whose products sum to it.
    pub fn pairs<T: Real>(self, sizes: &Sizes, a: &Array<T>, b: &Array<T>, mut entry: impl FnMut(&[usize], &[(T, T)])) {
        let (rank, mut pairs) = (self.1, vec![]);
        let [rows, columns] = [0, 1].map(|d| if d < rank { sizes.dims[d] } else { 1 });
        for out in indices(&self.extents(sizes)[2]) {
            pairs.clear();
            for p in 0..sizes.points {
                for i in 0..rows {
                    for j in 0..columns {
                        let field = |x: &Array<T>, f| x.at(&[out[0], f, p, i, j][..3 + rank]);
                        let data = |x: &Array<T>, p| x.at(&[out[0], p, i, j][..2 + rank]);
                        pairs.push(match self.0 {
                            Form::FieldField => (field(a, out[1]), field(b, out[2])),
                            Form::DataField => (data(a, p.min(sizes.data_points - 1)), field(b, out[1])),
                            Form::DataData => (data(a, p), data(b, p)),
                        });
                    }
                }
            }
            entry(&out, &pairs);
        }
    }
}

/// Sum of the products (error-free transformations: the products' and sums' roundings are added up), and of their sizes.
pub fn accurate<T: Real>(pairs: &[(T, T)], begin: f64) -> (f64, f64) {
    let (mut sum, mut rest, mut size) = (begin, 0.0, begin.abs());
    for &(a, b) in pairs {
        let (a, b): (f64, f64) = (a.into(), b.into());
        let product = a * b;
        let next = sum + product;
        let part = next - sum;
        rest += a.mul_add(b, -product) + ((sum - (next - part)) + (product - part));
        (sum, size) = (next, size + product.abs());
    }
    (sum + rest, size)
}
