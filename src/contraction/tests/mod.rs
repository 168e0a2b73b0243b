//! What the tests share: the nine in one table, their extents, and the products behind each entry.

mod arrays;
mod bounds;
mod exact;
mod identities;
mod shapes;

use super::*;
use crate::space::{Layout, Serial, Threads};
use arrays::{Array, Float, PACKED, PLACES, Place, indices, integer, random};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    FieldField,
    DataField,
    DataData,
}

/// Extents of a case; a kernel takes as many of `dims` as it has.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    cells: usize,
    fields: [usize; 2],
    points: usize,
    dims: [usize; 2],
    /// `points`, or 1: of the data of a data-field contraction.
    data_points: usize,
}

/// Threads (or [`Serial`]), inputs, output.
type Run<T> = fn(Option<&Threads>, &Array<T>, &Array<T>, &mut Array<T>, Sum) -> Result<()>;

/// One of the nine.
struct Kernel<T> {
    name: &'static str,
    form: Form,
    rank: usize,
    run: Run<T>,
}

impl<T: Float> Kernel<T> {
    /// Extents of both inputs and the output.
    fn extents(&self, sizes: &Sizes) -> [Vec<usize>; 3] {
        let Sizes { cells, fields: [left, right], points, dims, data_points } = *sizes;
        let field = |count| [&[cells, count, points][..], &dims[..self.rank]].concat();
        let data = |points| [&[cells, points][..], &dims[..self.rank]].concat();
        match self.form {
            Form::FieldField => [field(left), field(right), vec![cells, left, right]],
            Form::DataField => [data(data_points), field(right), vec![cells, right]],
            Form::DataData => [data(points), data(points), vec![cells]],
        }
    }

    /// Calls `entry` with each output index and the pairs of numbers whose products sum to it: the oracle's loops.
    fn pairs(&self, sizes: &Sizes, a: &Array<T>, b: &Array<T>, mut entry: impl FnMut(&[usize], &[(T, T)])) {
        let (rank, mut pairs) = (self.rank, vec![]);
        let [rows, columns] = [0, 1].map(|d| if d < rank { sizes.dims[d] } else { 1 });
        for out in indices(&self.extents(sizes)[2]) {
            pairs.clear();
            for p in 0..sizes.points {
                for i in 0..rows {
                    for j in 0..columns {
                        let field = |x: &Array<T>, f| x.at(&[out[0], f, p, i, j][..3 + rank]);
                        let data = |x: &Array<T>, p| x.at(&[out[0], p, i, j][..2 + rank]);
                        pairs.push(match self.form {
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

    /// A packed output, computed over NaNs.
    fn overwritten(&self, sizes: &Sizes, a: &Array<T>, b: &Array<T>, layout: Layout) -> Array<T> {
        let mut out = Array::new(&self.extents(sizes)[2], Place::Packed(layout), f64::NAN, |_| T::of(f64::NAN));
        (self.run)(None, a, b, &mut out, Sum::Overwrite).unwrap();
        out
    }
}

macro_rules! nine {
    ($($form:ident $rank:literal $kernel:ident;)*) => {
        fn nine<T: Float>() -> [Kernel<T>; 9] {
            [$(Kernel {
                name: stringify!($kernel),
                form: Form::$form,
                rank: $rank,
                run: |threads, a, b, out, sum| match threads {
                    None => $kernel(&Serial, &a.view(), &b.view(), &mut out.view_mut(), sum),
                    Some(threads) => $kernel(threads, &a.view(), &b.view(), &mut out.view_mut(), sum),
                },
            }),*]
        }
    };
}
nine! {
    FieldField 0 field_field_scalar; FieldField 1 field_field_vector; FieldField 2 field_field_tensor;
    DataField 0 data_field_scalar; DataField 1 data_field_vector; DataField 2 data_field_tensor;
    DataData 0 data_data_scalar; DataData 1 data_data_vector; DataData 2 data_data_tensor;
}
