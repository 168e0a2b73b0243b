//! Indices as they come from other programs, checked: signed or unsigned, 32 or 64 bits; negative ones are ignored.

use crate::error::check_length;
use crate::graph::{CooIndex, Slots};
use crate::space::{Threads, try_collect};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;

/// Items per task when indices are checked.
const CHUNK: usize = 1 << 16;

/// A table `[elem, a]` of row or column indices, packed, `a` fastest, with any number of indices per element.
#[derive(Clone, Copy, Debug)]
pub struct ElementIndices<'a, I> {
    /// The indices of all elements.
    pub indices: &'a [I],
    /// Indices per element.
    pub per_elem: usize,
}

impl<I: CooIndex> ElementIndices<'_, I> {
    /// Checks that all indices lie below `limit`; returns whether some are negative. `what` is "row" or "column".
    pub(super) fn check(&self, space: &Threads, limit: usize, what: &str) -> Result<bool> {
        let place = |at: usize| format!("{what}s_of[{}, {}]", at / self.per_elem, at % self.per_elem);
        check(space, self.indices, limit, what, place)
    }
}

/// Returns the slots of element tables.
pub(super) fn slots<'a, I>(
    operation: &'static str,
    rows_of: ElementIndices<'a, I>,
    columns_of: ElementIndices<'a, I>,
) -> Result<Slots<'a, I, I>> {
    let tables = [(rows_of.indices.len(), rows_of.per_elem), (columns_of.indices.len(), columns_of.per_elem)];
    check_tables(operation, tables)?;
    let (rows, rows_per_elem) = (rows_of.indices, rows_of.per_elem);
    let (columns, columns_per_elem) = (columns_of.indices, columns_of.per_elem);
    Ok(Slots { rows, rows_per_elem, columns, columns_per_elem, skips: false })
}

/// Refuses tables of rows and columns, given their lengths and indices per element, unless both have the same number of elements.
pub(super) fn check_tables(operation: &'static str, tables: [(usize, usize); 2]) -> Result<()> {
    for (name, (len, per_elem)) in ["rows_of", "columns_of"].into_iter().zip(tables) {
        if per_elem == 0 || !len.is_multiple_of(per_elem) {
            return Err(Error::Invalid(format!(
                "{operation}: `{name}` has {len} indices, {per_elem} per element: expected whole elements of 1 index or more"
            )));
        }
    }
    let [rows, columns] = tables.map(|(len, per_elem)| len / per_elem);
    check_length(operation, "columns_of (elements)", columns, rows)
}

/// Whether all indices that are not negative lie below `limit`, and whether some are negative.
///
/// # Errors
/// [`Error::Invalid`] for the first index that lies outside, named by `place`.
pub(super) fn check<I: CooIndex>(
    space: &Threads,
    indices: &[I],
    limit: usize,
    what: &str,
    place: impl Fn(usize) -> String,
) -> Result<bool> {
    // Item of a chunk that lies outside, and whether the chunk has negative indices.
    let nothing = (0..indices.len().div_ceil(CHUNK)).map(|_| (false, false));
    let mut found = try_collect("checks of indices", nothing)?;
    space.for_each(found.par_iter_mut().zip(indices.par_chunks(CHUNK)), |(found, indices)| {
        // Comparisons in the type itself, without branches, fill vector registers.
        let extremes = |limit: I| {
            let found = |(above, negative), &index: &I| (above | (index >= limit), negative | (index < I::zero()));
            indices.iter().fold((false, false), found)
        };
        // No index is too large for a limit beyond its type.
        *found = I::from(limit).map_or_else(|| (false, extremes(I::max_value()).1), extremes);
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

    /// The largest number of 32 bits stands for an ignored index.
    #[test]
    fn sizes_end_below_the_largest_index() {
        let most = LocalOrdinal::MAX as usize - 1;
        assert!(check_sizes(most, most, most).is_ok());
        for (sizes, words) in [
            ([most + 1, 0, 0], "4294967295 rows"),
            ([0, most + 1, 0], "4294967295 columns"),
            ([1, 2, most + 2], "4294967296 pairs"),
        ] {
            let error = check_sizes(sizes[0], sizes[1], sizes[2]).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("4294967294 (32 bits)"), "{error}");
        }
    }

    #[test]
    fn tables_hold_whole_elements_and_equally_many() {
        let refused = |tables| check_tables("Coo::new", tables).unwrap_err().to_string();
        assert!(
            check_tables("Coo::new", [(6, 3), (4, 2)]).is_ok() && check_tables("Coo::new", [(0, 3), (0, 2)]).is_ok()
        );
        for (tables, words) in [
            ([(7, 3), (4, 2)], "`rows_of` has 7 indices, 3 per element"),
            ([(6, 3), (5, 2)], "`columns_of` has 5 indices, 2 per element"),
            ([(6, 3), (0, 0)], "`columns_of` has 0 indices, 0 per element"),
            ([(6, 3), (6, 2)], "`columns_of (elements)` has extents [3], expected [2]"),
        ] {
            assert!(refused(tables).contains(words), "{}", refused(tables));
        }
    }
}
