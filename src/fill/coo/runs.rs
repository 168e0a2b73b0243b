//! Runs of equal rows among pairs: element matrices written as pairs name each row once per column.
//!
//! ```text
//! i = 7 7 7 7 3 3 3 3 9 9 9 9      width 4: slot s has the row i[4 s] and the columns j[4 s..4 s + 4]
//! ```
//! With runs a plan has one slot per run instead of one per pair, so its lists take 4 / width bytes per pair, and sums read
//! `width` neighbouring values at once. The order of a row's values is the same. Cost: one more pass over the rows of pairs that
//! have runs, 4096 rows of those that have none.

use crate::Result;
use crate::space::{HostSpace, try_collect};
use rayon::prelude::*;

/// Items whose runs give a first width.
const SAMPLE: usize = 4096;
/// Items per task.
const CHUNK: usize = 1 << 16;

/// Returns the largest width such that every `i[width * s..width * (s + 1)]` repeats one index: the greatest common divisor of
/// the places at which the index changes, and of the length; 1 without indices.
pub(super) fn width<S: HostSpace, I: Copy + PartialEq + Sync>(space: &S, i: &[I]) -> Result<usize> {
    let width = narrow(&i[..i.len().min(SAMPLE)], 0, i.len());
    if width <= 1 {
        return Ok(1);
    }
    // Whole runs.
    let chunk = CHUNK.div_ceil(width) * width;
    let mut widths = try_collect("widths of runs", (0..i.len().div_ceil(chunk)).map(|_| width))?;
    space.for_each(widths.par_iter_mut().zip(i.par_chunks(chunk)).enumerate(), |(at, (found, i))| {
        let has_runs = match width {
            3 => are_runs(i.as_chunks::<3>().0),
            4 => are_runs(i.as_chunks::<4>().0),
            8 => are_runs(i.as_chunks::<8>().0),
            _ => i.chunks_exact(width).all(|run| run.iter().all(|index| *index == run[0])),
        };
        if !has_runs {
            *found = narrow(i, at * chunk, width);
        }
    });
    Ok(widths.into_iter().fold(width, gcd))
}

/// Whether each item repeats one index. Without branches, so that comparisons fill vector registers.
fn are_runs<I: Copy + PartialEq, const N: usize>(runs: &[[I; N]]) -> bool {
    runs.iter().fold(true, |all, run| run.iter().fold(all, |all, index| all & (*index == run[0])))
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
        let width = |i: &[i32]| width(&Serial, i).unwrap();
        assert_eq!([width(&[]), width(&[5]), width(&[5, 5]), width(&[5, 6])], [1, 1, 2, 1]);
        assert_eq!(width(&[7, 7, 7, 7, 3, 3, 3, 3]), 4);
        // A neighbour with the same row makes a longer run; a last run that is shorter counts, too.
        assert_eq!(width(&[7, 7, 7, 7, 7, 7, 3, 3, 3]), 3);
        assert_eq!(width(&[7, 7, 7, 7, 3, 3]), 2);
        assert_eq!(width(&[7, 7, 7, 7, 3]), 1);
        assert_eq!(width(&[-1; 12]), 12);
    }

    #[test]
    fn runs_that_end_late_are_found_on_any_number_of_threads() {
        for width in [1usize, 2, 3, 4, 5, 8, 24] {
            let mut i: Vec<u32> = (0..4 * CHUNK / width * width).map(|k| (k / width * 7919 % 1000) as u32).collect();
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                assert_eq!(super::width(&space, &i).unwrap(), width);
                // The run before the last one ends a pair early.
                let (last, end) = (i.len() - width - 1, i.len());
                let other = std::mem::replace(&mut i[last], 1001);
                assert_eq!(super::width(&space, &i).unwrap(), 1, "{width}");
                i[last] = other;
                // Two halves of the last run differ.
                if width % 2 == 0 {
                    let others = i[end - width / 2..].to_vec();
                    i[end - width / 2..].fill(1002);
                    assert_eq!(super::width(&space, &i).unwrap(), width / 2);
                    i[end - width / 2..].copy_from_slice(&others);
                }
            }
        }
    }
}
