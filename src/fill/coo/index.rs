//! Indices as they come from other programs: signed or unsigned, 32 or 64 bits; negative ones are ignored.

use crate::space::{HostSpace, try_collect};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;

pub(super) use crate::graph::IGNORED;

/// Items per task when indices are checked.
const CHUNK: usize = 1 << 16;

/// An integer type for row and column indices: `i32`, `i64`, `u32`, `u64` or `usize`.
///
/// A pair with a negative index is ignored, as by PETSc's `MatSetPreallocationCOO`; unsigned indices are never ignored.
pub trait CooIndex: Copy + PartialEq + Send + Sync + std::fmt::Display + 'static {
    /// Returns the index, or `None` if it is negative.
    fn get(self) -> Option<u64>;

    /// Returns the index in 32 bits, which it is known to fit; `u32::MAX` if it is negative.
    #[doc(hidden)]
    fn local(self) -> LocalOrdinal;

    /// Returns whether some indices are above `last`, and whether some are negative.
    #[doc(hidden)]
    fn extremes(indices: &[Self], last: u64) -> (bool, bool);
}

macro_rules! index {
    ($($int:ty),*) => {$(
        impl CooIndex for $int {
            #[inline(always)]
            fn get(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn local(self) -> LocalOrdinal {
                if self < 0 { IGNORED } else { self as LocalOrdinal }
            }
            #[allow(unused_comparisons)]
            fn extremes(indices: &[Self], last: u64) -> (bool, bool) {
                // Comparisons in the type itself, without branches, fill vector registers.
                let last = Self::try_from(last).unwrap_or(Self::MAX);
                let found = |(above, negative), &index: &Self| (above | (index > last), negative | (index < 0));
                indices.iter().fold((false, false), found)
            }
        }
    )*};
}
index!(i32, i64, u32, u64, usize);

/// Whether all indices that are not negative lie below `limit`, and whether some are negative.
///
/// # Errors
/// [`Error::Invalid`] for the first index that lies outside, named by `place`.
pub(super) fn check<S: HostSpace, I: CooIndex>(
    space: &S,
    indices: &[I],
    limit: usize,
    what: &str,
    place: impl Fn(usize) -> String,
) -> Result<bool> {
    // Item of a chunk that lies outside, and whether the chunk has negative indices.
    let nothing = (0..indices.len().div_ceil(CHUNK)).map(|_| (false, false));
    let mut found = try_collect("checks of indices", nothing)?;
    space.for_each(found.par_iter_mut().zip(indices.par_chunks(CHUNK)), |(found, indices)| {
        *found = match (limit as u64).checked_sub(1) {
            Some(last) => I::extremes(indices, last),
            None => (indices.iter().any(|index| index.get().is_some()), !indices.is_empty()),
        };
    });
    let Some(chunk) = found.iter().position(|(is_outside, _)| *is_outside) else {
        return Ok(found.iter().any(|(_, is_negative)| *is_negative));
    };
    let mut at = (chunk * CHUNK..).zip(&indices[chunk * CHUNK..]);
    let is_outside = |index: &I| index.get().is_some_and(|index| index >= limit as u64);
    let (at, index) = at.find(|(_, index)| is_outside(index)).expect("the chunk has such an index");
    Err(Error::Invalid(format!(
        "{} is {index}, expected a {what} in 0..{limit}, or a negative number to be ignored",
        place(at)
    )))
}

/// Refuses more rows, columns or pairs than 32 bits number.
pub(super) fn check_sizes(rows: usize, columns: usize, pairs: usize) -> Result<()> {
    for (what, count) in [("rows", rows), ("columns", columns), ("pairs", pairs)] {
        if count >= LocalOrdinal::MAX as usize {
            return Err(Error::TooLarge {
                what: "Coo".into(),
                needed: format!("{count} {what}"),
                limit: format!("{} (32 bits)", LocalOrdinal::MAX - 1),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn the_first_index_outside_is_named() {
        let place = |at| format!("i[{at}]");
        let refused = |indices: &[i64]| check(&Serial, indices, 4, "row", place).unwrap_err().to_string();
        assert_eq!(refused(&[0, 4, 9]), "i[1] is 4, expected a row in 0..4, or a negative number to be ignored");
        assert!(refused(&[i64::MAX]).starts_with("i[0] is 9223372036854775807"));
        assert!(!check(&Serial, &[0u32, 3], 4, "row", place).unwrap());
        assert!(check(&Serial, &[0, -1, 3], 4, "row", place).unwrap());
        let mut long = vec![3i32; 3 * CHUNK];
        (long[2 * CHUNK + 5], long[CHUNK + 7], long[CHUNK + 9]) = (4, 5, -2);
        let error = check(&Threads::new(3).unwrap(), &long, 4, "row", place).unwrap_err().to_string();
        assert!(error.starts_with(&format!("i[{}] is 5", CHUNK + 7)), "{error}");
    }

    #[test]
    fn negative_indices_of_every_type_are_ignored() {
        assert_eq!([(-1i32).local(), i32::MIN.local(), 7i32.local()], [IGNORED, IGNORED, 7]);
        assert_eq!([(-1i64).local(), i64::MIN.local(), 7i64.local()], [IGNORED, IGNORED, 7]);
        assert_eq!((7u32.local(), 7u64.local(), 7usize.local()), (7, 7, 7));
        assert_eq!(((-1i32).get(), 5u64.get(), u64::MAX.get()), (None, Some(5), Some(u64::MAX)));
    }
}
