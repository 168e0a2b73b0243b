//! Sorts and searches short rows by counting smaller columns: one vector comparison for several columns, no branch.

use crate::LocalOrdinal;

/// Most columns of a row that are sorted or searched by counting. Beyond, comparisons in O(n log n) are faster.
pub(super) const COUNTED: usize = 32;

/// Columns that are compared with an entry at once: the 32-bit lanes of an AVX register.
const LANES: usize = 8;

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
    let (mut unsorted, mut ranks) = ([0; COUNTED], [0; COUNTED]);
    unsorted[..columns.len()].copy_from_slice(columns);
    // With a trip count known at run time only, the compiler vectorises over columns; a constant one is unrolled and vectorised over entries,
    // three times as slow (docs/results/2026-11-27-map-sort.md).
    let vectors = columns.len().div_ceil(LANES);
    let (by_vector, ranks_of) = (&unsorted.as_chunks::<LANES>().0[..vectors], ranks.as_chunks_mut::<LANES>().0);
    for &entry in &*columns {
        for (ranks, columns) in ranks_of.iter_mut().zip(by_vector) {
            let before = *ranks;
            for lane in 0..LANES {
                ranks[lane] = before[lane] + u32::from(entry < columns[lane]);
            }
        }
    }
    unsorted.iter().zip(ranks).take(columns.len()).for_each(|(&column, rank)| columns[rank as usize] = column);
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
