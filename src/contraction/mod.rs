//! The nine Intrepid tensor contractions.
//!
//! Each is, per cell c, a product of matrices over K = points x dims x dims:
//!
//! | name | inputs | output | operations |
//! |---|---|---|---|
//! | `field_field_{scalar, vector, tensor}` | left (C, L, P[, D1[, D2]]), right (C, R, P[, D1[, D2]]) | (C, L, R) | 2 C L R K |
//! | `data_field_{scalar, vector, tensor}` | data (C, P or 1[, D1[, D2]]), fields (C, F, P[, D1[, D2]]) | (C, F) | 2 C F K |
//! | `data_data_{scalar, vector, tensor}` | left (C, P[, D1[, D2]]), right the same | (C) | 2 C K |
//!
//! Bytes: each input read once, each output written once (and read once with [`Sum::Into`]). Data with one point is
//! constant over the points. Any strides; f32 and f64. Source: Intrepid's `ArrayTools` contractions, which put the output
//! first; here the order is space, inputs, output. Shapes are checked in release builds too.
//!
//! The views are of the space's memory: [`View`](crate::space::View) of a slice on the host, `DeviceView` on a GPU, where
//! `With` names an algorithm.

mod cells;
#[cfg(feature = "cuda")]
mod cuda;
pub mod fixed;
mod host;
mod output;
mod rows;
mod shape;
#[cfg(test)]
mod tests;
mod tile;

use crate::space::lanes::Real;
use crate::space::{MemorySpace, Strided};
use crate::{Error, Result};

#[cfg(feature = "cuda")]
pub use cuda::{Variant, With};
pub use tile::Sums;

/// What becomes of the output's old values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// They are lost, unread.
    Overwrite,
    /// The contraction is added to them (Intrepid's `sumInto`).
    Into,
}

/// A contraction whose shapes have been checked; only this room makes one.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Whether the second index of left and right is the field.
    fields: [bool; 2],
    sum: Sum,
}

/// A view of items of a space that contracts.
type In<'a, S, T, const R: usize> = <<S as Contract>::Memory as MemorySpace>::View<'a, T, R>;
/// A view of its output.
type Out<'a, S, T, const R: usize> = <<S as Contract>::Memory as MemorySpace>::ViewMut<'a, T, R>;

/// What the nine run on: every host space, a GPU, a GPU with a named algorithm.
pub trait Contract {
    /// Where its views look.
    type Memory: MemorySpace;

    /// out[c, l, r] = or += sum_k left[c, l, k] right[c, r, k], each array without the indices that it lacks.
    ///
    /// # Errors
    /// A device's failure, where there is a device.
    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &In<'_, Self, T, A>,
        right: &In<'_, Self, T, B>,
        out: &mut Out<'_, Self, T, C>,
    ) -> Result<()>;
}

/// `Err(Error::Shape)` unless the extents agree.
fn check(operation: &'static str, array: &'static str, actual: &[usize], expected: &[usize]) -> Result<()> {
    if actual == expected {
        return Ok(());
    }
    Err(Error::Shape { operation, array, actual: actual.to_vec(), expected: expected.to_vec() })
}

macro_rules! contractions {
    ($($rank:literal fields, $data_rank:literal data:
        $field_field:ident, $data_field:ident, $data_data:ident, $shape:literal;)*) => {$(
        #[doc = concat!("`out[c, l, r] = sum over ", $shape, " of left[c, l, ", $shape, "] right[c, r, ", $shape, "]`.")]
        ///
        /// # Errors
        /// [`Error::Shape`] when `right` or `out` does not fit `left`.
        pub fn $field_field<S: Contract, T: Real>(
            space: &S,
            left: &In<'_, S, T, $rank>,
            right: &In<'_, S, T, $rank>,
            out: &mut Out<'_, S, T, 3>,
            sum: Sum,
        ) -> Result<()> {
            let mut expected = left.extents();
            expected[1] = right.extents()[1];
            check(stringify!($field_field), "right", &right.extents(), &expected)?;
            let extents = [left.extents()[0], left.extents()[1], right.extents()[1]];
            check(stringify!($field_field), "out", &out.extents(), &extents)?;
            space.contract(Task { fields: [true, true], sum }, left, right, out)
        }

        #[doc = concat!("`out[c, f] = sum over ", $shape, " of data[c, ", $shape, "] fields[c, f, ", $shape, "]`.")]
        ///
        /// Data with one point holds at all points.
        ///
        /// # Errors
        /// [`Error::Shape`] when `data` or `out` does not fit `fields`.
        pub fn $data_field<S: Contract, T: Real>(
            space: &S,
            data: &In<'_, S, T, $data_rank>,
            fields: &In<'_, S, T, $rank>,
            out: &mut Out<'_, S, T, 2>,
            sum: Sum,
        ) -> Result<()> {
            let mut expected = [0; $data_rank];
            expected[0] = fields.extents()[0];
            expected[1..].copy_from_slice(&fields.extents()[2..]);
            if data.extents()[1] == 1 {
                expected[1] = 1;
            }
            check(stringify!($data_field), "data", &data.extents(), &expected)?;
            let [cells, count] = [fields.extents()[0], fields.extents()[1]];
            check(stringify!($data_field), "out", &out.extents(), &[cells, count])?;
            space.contract(Task { fields: [false, true], sum }, data, fields, out)
        }

        #[doc = concat!("`out[c] = sum over ", $shape, " of left[c, ", $shape, "] right[c, ", $shape, "]`.")]
        ///
        /// # Errors
        /// [`Error::Shape`] when `right` or `out` does not fit `left`.
        pub fn $data_data<S: Contract, T: Real>(
            space: &S,
            left: &In<'_, S, T, $data_rank>,
            right: &In<'_, S, T, $data_rank>,
            out: &mut Out<'_, S, T, 1>,
            sum: Sum,
        ) -> Result<()> {
            check(stringify!($data_data), "right", &right.extents(), &left.extents())?;
            check(stringify!($data_data), "out", &out.extents(), &left.extents()[..1])?;
            space.contract(Task { fields: [false, false], sum }, left, right, out)
        }
    )*};
}
contractions! {
    3 fields, 2 data: field_field_scalar, data_field_scalar, data_data_scalar, "p";
    4 fields, 3 data: field_field_vector, data_field_vector, data_data_vector, "p, i";
    5 fields, 4 data: field_field_tensor, data_field_tensor, data_data_tensor, "p, i, j";
}
