//! The nine Intrepid tensor contractions.
//!
//! Each contraction is one matrix product per cell c, over K = points x dims x dims terms:
//!
//! | name | inputs | output | operations |
//! |---|---|---|---|
//! | `field_field_{scalar, vector, tensor}` | left (C, L, P[, D1[, D2]]), right (C, R, P[, D1[, D2]]) | (C, L, R) | 2 C L R K |
//! | `data_field_{scalar, vector, tensor}` | data (C, P or 1[, D1[, D2]]), fields (C, F, P[, D1[, D2]]) | (C, F) | 2 C F K |
//! | `data_data_{scalar, vector, tensor}` | left (C, P[, D1[, D2]]), right the same | (C) | 2 C K |
//!
//! Bytes: each input is read once, each output is written once (and read once with [`Sum::Into`]). Data with one point are
//! constant over the points. Strides are arbitrary; numbers are f32 or f64. Source: the contractions of Intrepid's
//! `ArrayTools`, which take the output first; here the order is space, inputs, output. Release builds check shapes, too.
//!
//! Views belong to the memory of the space: [`View`](crate::space::View) of a slice on the host, `DeviceView` on a GPU. On a
//! GPU, `With` selects an algorithm, a `Variant`. The table says what each variant does and where it applies; elsewhere it
//! returns [`Error::Invalid`] with the name of the variant and the shape. "Specialised" variants are compiled for their sizes.
//!
//! | variant | work per thread, warp or block | applies to | reason |
//! |---|---|---|---|
//! | `flat` | one output per thread | all | |
//! | `tile-1x8`, `tile-4x4`, `tile-8x8` | one tile of outputs per thread, sums in registers, cells in lanes | all | made for cells with stride 1 |
//! | `team1` | one cell per block, threads over outputs; for a single output, threads over the last contracted index | all | |
//! | `team2` | one cell per block, groups of lanes over outputs, lanes over K; for a single output, threads over the last two contracted indices | all | |
//! | `teamstride32`, `-64`, `-128` | one output per block, threads stride over K | all | pays for few outputs and large K |
//! | `segments`, `segments-atomic` | several outputs per warp, one product per lane | K <= 16 | a warp holds the products of at least two outputs |
//! | `slicing` | one row of a cell's left operand per block, in shared memory | `field_field`, `data_field`; the row fits | `data_data` uses each number once |
//! | `adaptive2`, `4`, `8`, `16`, `adaptive` (the largest) | that many rows per block | `field_field` with at least that many left fields; they fit | rows belong to one cell |
//! | `tile8`, `tile16`, `tile32` | one square of outputs per block, squares of both operands in shared memory | `field_field` | other families have no second field index |
//! | `fixed-lanes` | as `tile-*`; specialised | K > 0 | made for cells with stride 1 |
//! | `fixed-rows` | lanes over K, vector loads; specialised | contiguous terms in both operands, K > 0 | vectors along K |
//! | `fixed-staged` | some cells per block, copied asynchronously to shared memory; specialised | `field_field`, contiguous terms, K > 0, enough threads in a block for a cell, capability 8.0 or later | copies of 16 bytes along K |
//! | `fixed-split` | as `fixed-staged`, groups of threads share the terms of a cell | as `fixed-staged` | pays for large K or few cells |
//! | `fixed-blocked` | up to 128 x 128 outputs per block, operands in shared memory, tiles in registers; specialised | `field_field`, K > 0 | made for 16 fields and more |
//! | `dmma` | 8 x 8 to 32 x 32 outputs per warp, or per group of warps, on f64 tensor cores; specialised | `field_field` in f64, contiguous terms, K > 0, capability 8.0 or later | a lane holds terms of a row |
//! | `dmma-blocked` | up to 128 x 64 outputs per block on f64 tensor cores, operands in shared memory; specialised | as `dmma` | made for more than 32 fields |
//!
//! Order of addition: `flat`, `tile*`, `slicing`, `adaptive*`, `fixed-lanes`, `fixed-staged`, `fixed-blocked`, and `team1` for
//! outputs with fields, add the products of an output in the order of (p, i, j) and return the same bits. The other variants add
//! in trees and may differ from these in the last bits; their results are reproducible, except for `segments-atomic`.
//!
//! `auto` chooses by measured times (`src/contraction/auto.csv`), and by a rule if no similar case was measured;
//! `auto-in-order` chooses among the variants that return the bits of `flat`. The first call of a specialised variant with new
//! sizes compiles its kernel, in about half a second, and keeps it on disk. (`tests/spaces/kernels_compile` compiles 579 kernels in
//! 127 s on two cores.)
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
mod gathered;
mod hex8;
mod host;
mod name;
mod operands;
mod output;
mod prefetch;
mod rows;
mod shape;
#[cfg(test)]
mod tests;
mod variant;

use crate::space::lanes::Real;
use crate::space::{MemorySpace, Strided, check_apart};
use crate::{Error, Result};

#[cfg(feature = "cuda")]
pub(crate) use cuda::KERNEL_FILES;
#[cfg(feature = "cuda")]
pub use cuda::{Reference, With, tuning};
pub use name::Contraction;
pub use variant::Variant;

/// Treatment of the previous values of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// The contraction replaces them; they are not read.
    Overwrite,
    /// The contraction is added to them (Intrepid's `sumInto`).
    Into,
}

/// A contraction whose shapes have been checked. Only this module makes one.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Whether the second index of left and of right is the field.
    fields: [bool; 2],
    sum: Sum,
}

/// An input view in the memory of a space.
type In<'a, S, T, const R: usize> = Strided<<<S as Contract>::Memory as MemorySpace>::Shared<'a, T>, R>;
/// An output view in the memory of a space.
type Out<'a, S, T, const R: usize> = Strided<<<S as Contract>::Memory as MemorySpace>::Unique<'a, T>, R>;

/// Computes the nine contractions: threads of a host, a GPU, and a GPU with a selected algorithm.
pub trait Contract {
    /// The memory of its views.
    type Memory: MemorySpace;

    /// out[c, l, r] = or += sum_k left[c, l, k] right[c, r, k], where each array omits the indices that it lacks.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a selected variant that does not apply; a failure of the device.
    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &In<'_, Self, T, A>,
        right: &In<'_, Self, T, B>,
        out: &mut Out<'_, Self, T, C>,
    ) -> Result<()>;
}

/// Returns [`Error::Shape`] unless the extents agree.
fn check(operation: &'static str, array: &'static str, actual: &[usize], expected: &[usize]) -> Result<()> {
    if actual == expected {
        return Ok(());
    }
    Err(Error::Shape { operation, array, actual: actual.to_vec(), expected: expected.to_vec() })
}

/// Returns [`Error::Invalid`] if two outputs might be one item, as with a stride of 0.
fn check_distinct<A, const R: usize>(operation: &'static str, out: &Strided<A, R>) -> Result<()> {
    check_apart(out.extents(), out.strides()).map_err(|error| Error::Invalid(format!("{operation}: `out`: {error}")))
}

macro_rules! contractions {
    ($($rank:literal fields, $data_rank:literal data:
        $field_field:ident, $data_field:ident, $data_data:ident, $shape:literal;)*) => {$(
        #[doc = concat!("`out[c, l, r] = sum over ", $shape, " of left[c, l, ", $shape, "] right[c, r, ", $shape, "]`.")]
        ///
        /// # Errors
        /// [`Error::Shape`] when `right` or `out` does not fit `left`; [`Error::Invalid`] unless each stride of
        /// `out` exceeds the reach of all smaller ones, so that no two outputs are one item.
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
            check_distinct(stringify!($field_field), out)?;
            space.contract(Task { fields: [true, true], sum }, left, right, out)
        }

        #[doc = concat!("`out[c, f] = sum over ", $shape, " of data[c, ", $shape, "] fields[c, f, ", $shape, "]`.")]
        ///
        /// Data with one point are used at all points.
        ///
        /// # Errors
        /// [`Error::Shape`] when `data` or `out` does not fit `fields`; [`Error::Invalid`] unless each stride of
        /// `out` exceeds the reach of all smaller ones, so that no two outputs are one item.
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
            check_distinct(stringify!($data_field), out)?;
            space.contract(Task { fields: [false, true], sum }, data, fields, out)
        }

        #[doc = concat!("`out[c] = sum over ", $shape, " of left[c, ", $shape, "] right[c, ", $shape, "]`.")]
        ///
        /// # Errors
        /// [`Error::Shape`] when `right` or `out` does not fit `left`; [`Error::Invalid`] unless each stride of
        /// `out` exceeds the reach of all smaller ones, so that no two outputs are one item.
        pub fn $data_data<S: Contract, T: Real>(
            space: &S,
            left: &In<'_, S, T, $data_rank>,
            right: &In<'_, S, T, $data_rank>,
            out: &mut Out<'_, S, T, 1>,
            sum: Sum,
        ) -> Result<()> {
            check(stringify!($data_data), "right", &right.extents(), &left.extents())?;
            check(stringify!($data_data), "out", &out.extents(), &left.extents()[..1])?;
            check_distinct(stringify!($data_data), out)?;
            space.contract(Task { fields: [false, false], sum }, left, right, out)
        }
    )*};
}
contractions! {
    3 fields, 2 data: field_field_scalar, data_field_scalar, data_data_scalar, "p";
    4 fields, 3 data: field_field_vector, data_field_vector, data_data_vector, "p, i";
    5 fields, 4 data: field_field_tensor, data_field_tensor, data_data_tensor, "p, i, j";
}
