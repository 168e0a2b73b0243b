//! Sums of more scalars than an exchange takes at once.

use crate::Result;
use std::ops::Range;

/// Does `work` for at most so many slots at a time: GMRES sums a product with each vector of its basis.
pub(super) fn in_parts(
    slots: Range<usize>,
    most: usize,
    mut work: impl FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    slots.clone().step_by(most).try_for_each(|first| work(first..slots.end.min(first + most)))
}
