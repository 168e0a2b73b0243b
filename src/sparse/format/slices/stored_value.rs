//! Types that the stored values of a matrix on a host may have: the assembled f64, or those rounded to f32.

use super::host_unions::SLICE;
use crate::Error;
use crate::sparse::{CrsMatrix, HostValue};

/// A type of stored values.
pub trait StoredValue: HostValue {
    /// Relative spacing of the numbers where they are rounded, 0 where they are not.
    const EPSILON: f64;

    /// The nearest number of this type.
    fn rounded(value: f64) -> Self;

    /// Whether a rounded value has full precision: neither overflow nor underflow. Infinity and NaN stay what they are.
    fn holds(value: f64, rounded: Self) -> bool;

    /// The first `split` items of `one` and the others of `two`. By bits, since the compiler turns a choice of items into gathers.
    #[doc(hidden)]
    fn joined(one: &[Self; SLICE], two: &[Self; SLICE], split: usize) -> [Self; SLICE];
}

/// `joined` of a type with `u64` or `u32` bits.
macro_rules! joined {
    ($bits:ty) => {
        #[inline(always)]
        fn joined(one: &[Self; SLICE], two: &[Self; SLICE], split: usize) -> [Self; SLICE] {
            static MASKS: [$bits; 2 * SLICE] = {
                let (mut masks, mut i) = ([0; 2 * SLICE], 0);
                while i < SLICE {
                    masks[i] = <$bits>::MAX;
                    i += 1;
                }
                masks
            };
            let masks = &MASKS[SLICE - split..][..SLICE];
            // A loop: a closure would be compiled without the instructions of the caller.
            let mut joined = [0.0; SLICE];
            for i in 0..SLICE {
                joined[i] = Self::from_bits((one[i].to_bits() & masks[i]) | (two[i].to_bits() & !masks[i]));
            }
            joined
        }
    };
}

impl StoredValue for f64 {
    const EPSILON: f64 = 0.0;

    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn holds(_: f64, _: Self) -> bool {
        true
    }

    joined!(u64);
}

impl StoredValue for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;

    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn holds(value: f64, rounded: Self) -> bool {
        rounded.is_normal() || value == 0.0 || !value.is_finite()
    }

    joined!(u32);
}

/// The first entry among the faults of blocks.
pub(in crate::sparse::format) fn first_fault(faults: &[Option<usize>]) -> Option<usize> {
    faults.iter().flatten().copied().min().filter(|&entry| entry != usize::MAX)
}

/// The error for an entry that f32 cannot hold.
pub(in crate::sparse::format) fn not_stored(a: &CrsMatrix, entry: usize) -> Error {
    let row = a.graph().row_map().partition_point(|&end| end as usize <= entry) - 1;
    let (column, value) = (a.graph().entries()[entry], a.values()[entry]);
    Error::Invalid(format!(
        "values f32: entry ({row}, {column}) is {value:e}, which single precision cannot hold; expected 0 or \
         magnitudes from {:e} to {:e}; choose f64",
        f32::MIN_POSITIVE,
        f32::MAX
    ))
}
