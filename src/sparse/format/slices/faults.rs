//! Entries that single precision cannot hold.

use crate::Error;
use crate::sparse::CrsMatrix;

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
