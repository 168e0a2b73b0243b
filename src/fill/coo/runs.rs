//! Runs of equal rows among pairs: element matrices written as pairs name each row once per column.
//!
//! ```text
//! i = 7 7 7 7 3 3 3 3 9 9 9 9      width 4: slot s has the row i[4 s] and the columns j[4 s..4 s + 4]
//! ```
//! With runs a plan has one slot per run instead of one per pair, so its lists take 4 / width bytes per pair, and sums read
//! `width` neighbouring values at once. The order of a row's values is the same. Cost: the rows of pairs that have runs are read once
//! more and 4 / width bytes per pair written, which later passes read instead; 4096 rows are read of pairs that have none.

use crate::graph::CooIndex;
use crate::space::{Threads, try_collect, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Items whose runs give a first width.
const SAMPLE: usize = 4096;
/// Items per task.
const CHUNK: usize = 1 << 16;

/// Returns the largest width of runs of equal indices, and each run's row: the width is the greatest common divisor
/// of the places at which the index changes, and of the length. `None` if it is 1.
pub(super) fn find<I: CooIndex>(space: &Threads, i: &[I]) -> Result<Option<(usize, Vec<LocalOrdinal>)>> {
    let mut width = narrow(&i[..i.len().min(SAMPLE)], 0, i.len());
    while width > 1 {
        let mut rows = try_zeroed::<LocalOrdinal>("rows of runs", i.len() / width)?;
        let runs = CHUNK.div_ceil(width);
        let mut widths = try_collect("widths of runs", (0..rows.len().div_ceil(runs)).map(|_| width))?;
        let chunks = rows.par_chunks_mut(runs).zip(i.par_chunks(runs * width)).zip(widths.par_iter_mut());
        space.for_each(chunks.enumerate(), |(chunk, ((rows, i), found))| {
            let has_runs = match width {
                3 => copy(i.as_chunks::<3>().0, rows),
                4 => copy(i.as_chunks::<4>().0, rows),
                8 => copy(i.as_chunks::<8>().0, rows),
                _ => {
                    let runs = rows.iter_mut().zip(i.chunks_exact(width));
                    runs.fold(true, |all, (row, run)| {
                        *row = run[0].local();
                        all && run.iter().all(|index| *index == run[0])
                    })
                }
            };
            if !has_runs {
                *found = narrow(i, chunk * runs * width, width);
            }
        });
        match widths.into_iter().fold(width, gcd) {
            same if same == width => return Ok(Some((width, rows))),
            // A run ends where the first items did not show it.
            smaller => width = smaller,
        }
    }
    Ok(None)
}

/// Writes the row of each run; returns whether each run repeats one index. Without branches, so that comparisons fill vector
/// registers.
fn copy<I: CooIndex, const N: usize>(runs: &[[I; N]], rows: &mut [LocalOrdinal]) -> bool {
    rows.iter_mut().zip(runs).fold(true, |all, (row, run)| {
        *row = run[0].local();
        run.iter().fold(all, |all, index| all & (*index == run[0]))
    })
}

/// The greatest common divisor of `width` and of the places of changes in `i`, whose first item has the place `first`.
fn narrow<I: PartialEq>(i: &[I], first: usize, width: usize) -> usize {
    let mut width = width;
    for (at, pair) in (first + 1..).zip(i.windows(2)) {
        if pair[0] != pair[1] {
            width = gcd(width, at);
            if width == 1 {
                break;
            }
        }
    }
    width
}

/// Euclid's algorithm.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn widths_equal_those_by_hand() {
        let width = |i: &[i32]| find(&Serial, i).unwrap().map_or(1, |(width, _)| width);
        assert_eq!([width(&[]), width(&[5]), width(&[5, 5]), width(&[5, 6])], [1, 1, 2, 1]);
        assert_eq!(width(&[7, 7, 7, 7, 3, 3, 3, 3]), 4);
        // A neighbour with the same row makes a longer run; a last run that is shorter counts, too.
        assert_eq!(width(&[7, 7, 7, 7, 7, 7, 3, 3, 3]), 3);
        assert_eq!(width(&[7, 7, 7, 7, 3, 3]), 2);
        assert_eq!(width(&[7, 7, 7, 7, 3]), 1);
        assert_eq!(width(&[-1; 12]), 12);
        assert_eq!(find(&Serial, &[7i64, 7, -3, -3, 9, 9]).unwrap().unwrap(), (2, vec![7, u32::MAX, 9]));
    }

    #[test]
    fn runs_that_end_late_are_found_on_any_number_of_threads() {
        for width in [1usize, 2, 3, 4, 5, 8, 24] {
            let mut i: Vec<u32> = (0..4 * CHUNK / width * width).map(|k| (k / width * 7919 % 1000) as u32).collect();
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let check = |i: &[u32], expected: usize| match find(&space, i).unwrap() {
                    None => assert_eq!(expected, 1),
                    Some((width, rows)) => {
                        assert_eq!(width, expected);
                        assert!(rows.iter().eq(i.iter().step_by(width)));
                    }
                };
                check(&i, width);
                // The run before the last one ends a pair early.
                let (last, end) = (i.len() - width - 1, i.len());
                let other = std::mem::replace(&mut i[last], 1001);
                check(&i, 1);
                i[last] = other;
                // Two halves of the last run differ.
                if width % 2 == 0 {
                    let others = i[end - width / 2..].to_vec();
                    i[end - width / 2..].fill(1002);
                    check(&i, width / 2);
                    i[end - width / 2..].copy_from_slice(&others);
                }
            }
        }
    }
}
