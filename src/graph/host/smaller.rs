//! Sorts and searches short rows by counting smaller columns: one vector comparison for several columns, no branch.

use crate::LocalOrdinal;

/// Most columns of a row that are sorted or searched by counting. Beyond, comparisons in O(n log n) are faster.
pub(super) const COUNTED: usize = 32;

/// Returns, for each of `columns`, the number of smaller `entries`.
#[inline(always)]
pub(super) fn smaller<const N: usize>(entries: &[LocalOrdinal], columns: &[LocalOrdinal; N]) -> [u32; N] {
    let mut counts = [0; N];
    for &entry in entries {
        counts.iter_mut().zip(columns).for_each(|(count, &column)| *count += u32::from(entry < column));
    }
    counts
}

/// Sorts the columns of a row, all different.
#[inline(always)]
pub(super) fn sort_row(columns: &mut [LocalOrdinal]) {
    if columns.len() > COUNTED {
        return columns.sort_unstable();
    }
    // Padding is smaller than no column.
    let mut padded = [LocalOrdinal::MAX; COUNTED];
    padded[..columns.len()].copy_from_slice(columns);
    let ranks = smaller(columns, &padded);
    padded.iter().zip(ranks).take(columns.len()).for_each(|(&column, rank)| columns[rank as usize] = column);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_sorted_as_the_library_sorts_them() {
        for length in 0..3 * COUNTED {
            let mut columns: Vec<u32> = (0..length as u32).map(|i| (i + 1).wrapping_mul(2_654_435_761)).collect();
            let mut expected = columns.clone();
            expected.sort_unstable();
            sort_row(&mut columns);
            assert_eq!(columns, expected);
        }
    }
}
