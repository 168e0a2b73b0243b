//! Types that the stored values of a matrix on a host may have: the assembled f64, or those rounded to f32.

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
}

/// The first entry among the faults of blocks.
pub(super) fn first_fault(faults: &[Option<usize>]) -> Option<usize> {
    faults.iter().flatten().copied().min().filter(|&entry| entry != usize::MAX)
}

/// The error for an entry that f32 cannot hold.
pub(super) fn not_stored(a: &CrsMatrix, entry: usize) -> Error {
    let row = a.graph().row_map().partition_point(|&end| end as usize <= entry) - 1;
    let (column, value) = (a.graph().entries()[entry], a.values()[entry]);
    Error::Invalid(format!(
        "matrix.values (--matrix) f32: entry ({row}, {column}) is {value:e}, which single precision cannot hold; expected 0 or \
         magnitudes from {:e} to {:e}; choose f64",
        f32::MIN_POSITIVE,
        f32::MAX
    ))
}
