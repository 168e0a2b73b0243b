//! Multi-dimensional views of a slice. The layout is a property of the view, so that code is written once for all
//! layouts.

use crate::{Error, Result};
use std::ops::{Deref, DerefMut, Index, IndexMut};

super::named_choice! { "layout";
    /// The index that runs fastest in memory.
    #[derive(Hash)]
    pub enum Layout {
        /// The first index (Fortran order): neighbouring cells are adjacent, for vector lanes and GPU threads.
        Left = "left",
        /// The last index (C order): the data of one cell are adjacent.
        Right = "right",
    }
}

impl Layout {
    /// Returns the strides, in items, of a packed array with these extents.
    pub fn strides<const R: usize>(self, extents: [usize; R]) -> [usize; R] {
        let mut strides = [1; R];
        match self {
            Layout::Left => (1..R).for_each(|d| strides[d] = strides[d - 1] * extents[d - 1]),
            Layout::Right => (1..R).rev().for_each(|d| strides[d - 1] = strides[d] * extents[d]),
        }
        strides
    }
}

/// A view `[i0, i1, ...]` of the items of `A`, in any memory.
#[derive(Clone, Copy, Debug)]
pub struct Strided<A, const R: usize> {
    pub(super) items: A,
    pub(super) extents: [usize; R],
    pub(super) strides: [usize; R],
}

/// A read-only view `[i0, i1, ...]` of a slice. Copies are free.
pub type View<'a, T, const R: usize> = Strided<&'a [T], R>;

/// A writable view `[i0, i1, ...]` of a slice.
pub type ViewMut<'a, T, const R: usize> = Strided<&'a mut [T], R>;

impl<A, const R: usize> Strided<A, R> {
    /// Returns the extent of each index.
    pub fn extents(&self) -> [usize; R] {
        self.extents
    }

    /// Returns the distance in items between neighbours along each index.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// Returns true if the items are packed in this layout.
    pub fn is_packed(&self, layout: Layout) -> bool {
        self.strides == layout.strides(self.extents)
    }

    /// Returns the position of an item behind the first one.
    #[inline(always)]
    pub fn offset(&self, index: [usize; R]) -> usize {
        debug_assert!(index.iter().zip(&self.extents).all(|(i, e)| i < e), "{index:?} in {:?}", self.extents);
        index.iter().zip(&self.strides).map(|(i, s)| i * s).sum()
    }
}

/// Checks that a view from item `first` ends within `len` items.
pub(super) fn check_reach<const R: usize>(
    len: usize,
    first: usize,
    extents: [usize; R],
    strides: [usize; R],
) -> Result<()> {
    if extents.contains(&0) {
        return Ok(());
    }
    // Saturating arithmetic: an overflow must not let a view pass.
    let reach = |last: usize, (e, s): (&usize, &usize)| last.saturating_add((e - 1).saturating_mul(*s));
    let last = extents.iter().zip(&strides).fold(first, reach);
    if last < len {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "view of extents {extents:?} and strides {strides:?}: reaches item {last}, the array has {len}"
    )))
}

/// Refuses strides with which two items might share an address: each stride must exceed the reach of all smaller strides.
pub(crate) fn check_apart<const R: usize>(extents: [usize; R], strides: [usize; R]) -> Result<()> {
    if extents.contains(&0) {
        return Ok(());
    }
    let mut order: [usize; R] = std::array::from_fn(|d| d);
    order.sort_unstable_by_key(|&d| strides[d]);
    let mut reached = 0;
    for d in order.into_iter().filter(|&d| extents[d] > 1) {
        if strides[d] <= reached {
            return Err(Error::Invalid(format!(
                "view to write of extents {extents:?} and strides {strides:?}: items may share their place"
            )));
        }
        reached += (extents[d] - 1) * strides[d];
    }
    Ok(())
}

impl<T, A: Deref<Target = [T]>, const R: usize> Strided<A, R> {
    /// Makes a packed view of the first `extents.product()` items of a slice.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the slice is too short.
    pub fn new(items: A, extents: [usize; R], layout: Layout) -> Result<Self> {
        Self::with_strides(items, extents, layout.strides(extents))
    }

    /// Makes a view of a slice with any strides, in items.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the view reaches past the end of the slice.
    pub fn with_strides(items: A, extents: [usize; R], strides: [usize; R]) -> Result<Self> {
        check_reach(items.len(), 0, extents, strides)?;
        Ok(Self { items, extents, strides })
    }

    /// Returns the slice behind the view.
    pub fn data(&self) -> &[T] {
        &self.items
    }

    /// Returns the slice behind the view, writable.
    pub fn data_mut(&mut self) -> &mut [T]
    where
        A: DerefMut,
    {
        &mut self.items
    }
}

impl<T, A: Deref<Target = [T]>, const R: usize> Index<[usize; R]> for Strided<A, R> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: [usize; R]) -> &T {
        &self.items[self.offset(index)]
    }
}

impl<T, A: DerefMut<Target = [T]>, const R: usize> IndexMut<[usize; R]> for Strided<A, R> {
    #[inline(always)]
    fn index_mut(&mut self, index: [usize; R]) -> &mut T {
        let offset = self.offset(index);
        &mut self.items[offset]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_place_items_as_by_hand() {
        assert_eq!(Layout::Right.strides([2, 3, 4]), [12, 4, 1]);
        assert_eq!(Layout::Left.strides([2, 3, 4]), [1, 2, 6]);
        let data: Vec<u32> = (0..24).collect();
        assert_eq!(View::new(&data, [2, 3, 4], Layout::Right).unwrap()[[1, 2, 3]], 23);
        assert_eq!(View::new(&data, [2, 3, 4], Layout::Left).unwrap()[[1, 0, 2]], 13);
    }

    #[test]
    fn a_short_slice_is_refused_with_both_sizes() {
        let error = View::new(&[0.0; 5], [2, 3], Layout::Right).unwrap_err().to_string();
        assert!(error.contains("reaches item 5") && error.contains("has 5"), "{error}");
        assert!(View::new(&[0.0; 0], [0, 3], Layout::Left).is_ok());
    }

    #[test]
    fn writes_go_through_strides() {
        let mut data = [0; 6];
        ViewMut::with_strides(&mut data, [2, 2], [1, 4]).unwrap()[[1, 1]] = 7;
        assert_eq!(data, [0, 0, 0, 0, 0, 7]);
    }
}
