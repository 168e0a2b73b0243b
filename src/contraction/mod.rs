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
//! `With` names an algorithm, a `Variant`. With K = points x dims x dims, what a variant does and where it applies; elsewhere
//! it is an [`Error::Invalid`] that names it and the shape:
//!
//! | variant | a team | applies | why there |
//! |---|---|---|---|
//! | `flat` | a thread an output | always | |
//! | `tile-1x8`, `tile-4x4`, `tile-8x8` | a thread a tile of outputs, sums in registers, cells in lanes | always | made for cells side by side |
//! | `team1` | a block a cell, threads over outputs; of a single output over the last contracted index | always | |
//! | `team2` | a block a cell, groups of lanes over outputs, lanes over K; of a single output threads over the last two contracted indices | always | |
//! | `teamstride32`, `-64`, `-128` | a block an output, its threads stride over K | always | pays when outputs are few and K is large |
//! | `segments`, `segments-atomic` | a warp several outputs, a lane a product | K <= 16 | a warp holds at least two outputs' products |
//! | `slicing` | a block a row of a cell's left operand, in shared memory | `field_field`, `data_field`; a row fits | of `data_data` no number is used twice |
//! | `adaptive2`, `4`, `8`, `16`, `adaptive` (the most) | the same with so many rows | `field_field` with that many left fields; they fit | rows are of one cell |
//! | `tile8`, `tile16`, `tile32` | a block a square of outputs, squares of both operands in shared memory | `field_field` | others have no second side |
//! | `fixed-lanes` | as `tile-*`, compiled for its sizes | K > 0 | made for cells side by side |
//! | `fixed-rows` | lanes over K, vector loads, compiled for its sizes | terms side by side in both operands, K > 0 | vectors along K |
//! | `fixed-staged` | some cells a block, copied to shared memory asynchronously, compiled for their sizes | `field_field`, terms side by side, K > 0, a block has threads for a cell, a GPU of capability 8.0 or later | copies of 16 bytes along K |
//! | `fixed-split` | the same, a cell's terms shared out among groups of threads | as `fixed-staged` | pays when K is large or cells are few |
//! | `fixed-blocked` | a block up to 128 x 128 outputs, operands in shared memory, tiles in registers, compiled for its sizes | `field_field`, K > 0 | made for 16 fields and more |
//! | `dmma` | one or more warps 8 x 8 to 32 x 32 outputs on f64 tensor cores, compiled for its sizes | `field_field` in f64, terms side by side, K > 0, a GPU of capability 8.0 or later | a lane holds terms of a row |
//! | `dmma-blocked` | a block up to 128 x 64 outputs on f64 tensor cores, operands in shared memory, compiled for its sizes | as `dmma` | made for more than 32 fields |
//!
//! All of `flat`, `tile*`, `slicing`, `adaptive*`, `fixed-lanes`, `fixed-staged`, `fixed-blocked`, and `team1` of outputs with fields, add an
//! output's products in the order of (p, i, j) and give the same bits. The others add in trees: other bits on general numbers,
//! the same at each run except for `segments-atomic`. `auto` chooses by `src/contraction/auto.csv`, measured times, and by a
//! rule where nothing near was measured; `auto-in-order` among those that give the bits of `flat`. What is compiled for its
//! sizes is compiled at the first call with them, in about half a second (`tests/kernels_compile.rs` makes 579 in
//! 127 s on two cores), and kept on disk.
//!
//! ```
//! use minifenl::contraction::{Sum, field_field_scalar};
//! use minifenl::space::{Layout, Serial, View, ViewMut};
//!
//! // Two cells, two fields, three points: mass matrices of basis values and weighted values.
//! let values = [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 0.0, 2.0];
//! let weighted = values.map(|x| 0.5 * x);
//! let mut masses = [0.0; 8];
//! field_field_scalar(
//!     &Serial,
//!     &View::new(&values, [2, 2, 3], Layout::Right)?,
//!     &View::new(&weighted, [2, 2, 3], Layout::Right)?,
//!     &mut ViewMut::new(&mut masses, [2, 2, 2], Layout::Right)?,
//!     Sum::Overwrite,
//! )?;
//! assert_eq!(masses, [7.0, 1.0, 1.0, 0.5, 1.5, 2.0, 2.0, 4.0]);
//! # Ok::<(), minifenl::Error>(())
//! ```

mod cells;
#[cfg(feature = "cuda")]
mod cuda;
mod dispatch;
mod dots;
pub mod fixed;
mod gathered;
mod hex8;
mod host;
mod operands;
mod output;
mod prefetch;
mod rows;
mod shape;
#[cfg(test)]
mod tests;
mod tile;

use crate::space::lanes::Real;
use crate::space::{MemorySpace, Strided};
use crate::{Error, Result};

#[cfg(feature = "cuda")]
pub(crate) use cuda::KERNEL_FILES;
#[cfg(feature = "cuda")]
pub use cuda::{Reference, SpecialisedKernel, Variant, With, element_kernels, tuning};
pub use tile::Accumulator;

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
