//! Prefix sums that turn counts into offsets.

use super::{Scan, Threads, memory::try_zeroed};
use crate::{Result, RowOffset};
use rayon::prelude::*;

/// Number of rows from which `auto` takes two passes on several threads.
///
/// Break-even of two threads with one, on two cores of an AMD EPYC: 0.14 ms each at 2^15 rows and 1.2 ms each at 2^18, with the
/// allocation; at 512 000 rows 1.6 ms in parallel and 2.3 ms serially.
const PARALLEL_FROM: usize = 1 << 18;

impl Scan {
    /// Returns the algorithm of a scan of `rows` rows on a space: serial or parallel.
    pub fn of(space: &Threads, rows: usize) -> Self {
        match space.scan {
            Scan::Auto if space.concurrency() == 1 || rows < PARALLEL_FROM => Scan::Serial,
            Scan::Auto => Scan::Parallel,
            given => given,
        }
    }
}

/// Replaces `counts[i]` by the sum of `counts[..i]` and returns the total.
///
/// [`Scan::of`] says by which algorithm. The parallel one makes two passes over pieces of equal length, 8 per thread:
/// sums, then offsets. The first reads 8 bytes per item, the second reads and writes 8. Integer sums are exact, so the
/// result does not depend on the space.
pub fn exclusive_scan(space: &Threads, counts: &mut [RowOffset]) -> RowOffset {
    if counts.is_empty() || Scan::of(space, counts.len()) == Scan::Serial {
        return scan_piece(0, counts);
    }
    let piece = counts.len().div_ceil(8 * space.concurrency());
    let mut sums = vec![0; counts.len().div_ceil(piece)];
    let pieces = sums.par_iter_mut().zip(counts.par_chunks(piece));
    space.for_each(pieces, |(sum, counts)| *sum = counts.iter().sum());
    let total = scan_piece(0, &mut sums);
    let pieces = sums.par_iter().zip(counts.par_chunks_mut(piece));
    space.for_each(pieces, |(&start, counts)| {
        scan_piece(start, counts);
    });
    total
}

/// Returns the offsets of rows with the given numbers of entries. The length is `counts.len() + 1`; the last item is
/// the total.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
pub fn offsets(space: &Threads, counts: &[u32]) -> Result<Vec<RowOffset>> {
    let mut row_map = try_zeroed::<RowOffset>("row offsets", counts.len() + 1)?;
    let pieces = row_map[..counts.len()].par_chunks_mut(Threads::CHUNK).zip(counts.par_chunks(Threads::CHUNK));
    space.for_each(pieces, |(out, counts)| out.iter_mut().zip(counts).for_each(|(o, &c)| *o = c.into()));
    let total = exclusive_scan(space, &mut row_map[..counts.len()]);
    row_map[counts.len()] = total;
    Ok(row_map)
}

fn scan_piece(start: RowOffset, counts: &mut [RowOffset]) -> RowOffset {
    counts.iter_mut().fold(start, |sum, count| sum + std::mem::replace(count, sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn offsets_equal_those_by_hand() {
        assert_eq!(offsets(&Serial, &[2, 0, 3]).unwrap(), [0, 2, 2, 5]);
        assert_eq!(offsets(&Serial, &[]).unwrap(), [0]);
    }

    #[test]
    fn a_given_scan_is_taken_and_auto_depends_on_threads_and_rows() {
        let threads = |count, scan| Threads::new(count).unwrap().with_scan(scan);
        assert_eq!(Scan::of(&Serial, PARALLEL_FROM), Scan::Serial);
        assert_eq!(Scan::of(&threads(1, Scan::Auto), PARALLEL_FROM), Scan::Serial);
        assert_eq!(Scan::of(&threads(2, Scan::Auto), PARALLEL_FROM), Scan::Parallel);
        assert_eq!(Scan::of(&threads(2, Scan::Auto), PARALLEL_FROM - 1), Scan::Serial);
        assert_eq!(Scan::of(&threads(1, Scan::Parallel), 3), Scan::Parallel);
        assert_eq!(Scan::of(&threads(2, Scan::Serial), PARALLEL_FROM), Scan::Serial);
        for count in [1, 3] {
            assert_eq!(offsets(&threads(count, Scan::Parallel), &[2, 0, 3]).unwrap(), [0, 2, 2, 5]);
            assert_eq!(offsets(&threads(count, Scan::Parallel), &[]).unwrap(), [0]);
        }
    }

    #[test]
    fn two_passes_agree_with_one() {
        let counts: Vec<u32> = (0..PARALLEL_FROM as u32 + 12_345).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect();
        let threads = Threads::new(3).unwrap();
        let by_threads = offsets(&threads, &counts).unwrap();
        assert_eq!(offsets(&Serial, &counts).unwrap(), by_threads);
        assert_eq!(*by_threads.last().unwrap(), counts.iter().map(|&c| u64::from(c)).sum::<u64>());
    }
}
