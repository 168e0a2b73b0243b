//! A sorting network that sorts the keys of 16 rows at once: each comparison is a pair of vector instructions.
//!
//! Batcher's odd-even merge sort of 64 keys has 543 comparators. Each comparator is one minimum and one maximum of two
//! vectors that hold one key per row. A row of up to 64 keys therefore costs 68 vector instructions and no branch.

use multiversion::multiversion;

/// Rows sorted at once: the number of 32-bit lanes in an AVX-512 register.
pub(super) const ROWS: usize = 16;
/// Keys per row.
pub(super) const KEYS: usize = 64;

/// Keys `[key, row]`, so that one vector holds the same key of all rows.
pub(super) type Keys = [[u32; ROWS]; KEYS];

/// Comparators (a < b: the smaller key goes to a), in execution order.
const COMPARATORS: [(u8, u8); 543] = odd_even_merge();

/// Number of low bits that hold the place a key was gathered from. Keys that differ in these bits only are duplicates.
pub(super) const PLACE_BITS: u32 = KEYS.ilog2();

/// Sorts the keys of each row in ascending order. Writes `ranks [key, row]`: the number of distinct columns up to and
/// including each key.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2", "x86_64+sse4.1"))]
pub(super) fn sort_rows(keys: &mut Keys, ranks: &mut Keys) {
    for (a, b) in COMPARATORS {
        let (low, high) = (keys[a as usize % KEYS], keys[b as usize % KEYS]);
        for row in 0..ROWS {
            keys[a as usize % KEYS][row] = low[row].min(high[row]);
        }
        for row in 0..ROWS {
            keys[b as usize % KEYS][row] = low[row].max(high[row]);
        }
    }
    let mut rank = [0; ROWS];
    let mut last = [u32::MAX; ROWS];
    for (keys, ranks) in keys.iter().zip(ranks) {
        for row in 0..ROWS {
            let key = keys[row] >> PLACE_BITS;
            rank[row] += u32::from(key != last[row]);
            last[row] = key;
        }
        *ranks = rank;
    }
}

/// Returns the comparators of Batcher's odd-even merge sort (Knuth, The Art of Computer Programming 3, section 5.3.4).
const fn odd_even_merge() -> [(u8, u8); 543] {
    let mut out = [(0, 0); 543];
    let (mut count, mut p) = (0, 1);
    while p < KEYS {
        let mut k = p;
        while k >= 1 {
            let mut j = k % p;
            while j + k < KEYS {
                let mut i = 0;
                while i < k && i + j + k < KEYS {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        out[count] = ((i + j) as u8, (i + j + k) as u8);
                        count += 1;
                    }
                    i += 1;
                }
                j += 2 * k;
            }
            k /= 2;
        }
        p *= 2;
    }
    assert!(count == 543);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_sorted_as_the_library_sorts_it() {
        let mut state = 1u32;
        let mut keys = [[0; ROWS]; KEYS];
        for cut in [u32::MAX, 7, 1] {
            keys.iter_mut().flatten().for_each(|key| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                *key = state % cut;
            });
            let mut expected: Vec<Vec<u32>> = (0..ROWS).map(|row| keys.iter().map(|k| k[row]).collect()).collect();
            expected.iter_mut().for_each(|row| row.sort_unstable());
            let mut ranks = [[0; ROWS]; KEYS];
            sort_rows(&mut keys, &mut ranks);
            for (row, expected) in expected.iter_mut().enumerate() {
                assert!(keys.iter().map(|k| k[row]).eq(expected.iter().copied()));
                for (k, ranks) in ranks.iter().enumerate() {
                    let mut different: Vec<u32> = expected[..=k].iter().map(|key| key >> PLACE_BITS).collect();
                    different.dedup();
                    assert_eq!(ranks[row] as usize, different.len());
                }
            }
        }
    }

    /// A network sorts everything if it sorts all sequences of zeros and ones. Trying all 2^64 is out of reach, so the
    /// test tries those with at most two ones or at most two zeros.
    #[test]
    fn zeros_and_ones_are_sorted() {
        let mut batch = Vec::new();
        for a in 0..KEYS {
            for b in a..KEYS {
                for ones in [false, true] {
                    batch.push(std::array::from_fn::<u32, KEYS, _>(|k| u32::from((k == a || k == b) == ones)));
                }
            }
        }
        for group in batch.chunks(ROWS) {
            let mut keys = std::array::from_fn(|k| std::array::from_fn(|row| group[row % group.len()][k]));
            sort_rows(&mut keys, &mut [[0; ROWS]; KEYS]);
            assert!((1..KEYS).all(|k| (0..ROWS).all(|row| keys[k - 1][row] <= keys[k][row])));
        }
    }
}
