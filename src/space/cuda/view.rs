//! Multi-dimensional views of arrays in device memory: shapes only, since the host cannot read the items.
//!
//! As [`View`](crate::space::View) and [`ViewMut`](crate::space::ViewMut) of a slice, with the position of the first item
//! instead of a sub-slice. Threads write concurrently, so an operation refuses to write to a view of which two items share an address.

use super::{Argument, CudaArray};
use crate::Result;
use crate::space::view::check_reach;
use crate::space::{Item, Layout, Strided};
use std::ops::Deref;

/// An array from item `first` on.
#[derive(Clone, Copy, Debug)]
pub struct Part<A> {
    array: A,
    first: usize,
}

/// Read-only view `[i0, i1, ...]` of an array in device memory.
pub type DeviceView<'a, T, const R: usize> = Strided<Part<&'a CudaArray<T>>, R>;

/// Mutable view `[i0, i1, ...]` of an array in device memory, for kernels that write.
pub type DeviceViewMut<'a, T, const R: usize> = Strided<Part<&'a mut CudaArray<T>>, R>;

impl<T: Item, A: Deref<Target = CudaArray<T>>, const R: usize> Strided<Part<A>, R> {
    /// A packed view of the first `extents.product()` items of `array`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `array` is too short.
    pub fn new(array: A, extents: [usize; R], layout: Layout) -> Result<Self> {
        Self::with_strides(array, 0, extents, layout.strides(extents))
    }

    /// A view from item `first` on with any strides, in items.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the view reaches past the end of `array`.
    pub fn with_strides(array: A, first: usize, extents: [usize; R], strides: [usize; R]) -> Result<Self> {
        check_reach(array.len(), first, extents, strides)?;
        Ok(Self { items: Part { array, first }, extents, strides })
    }

    /// Returns the device address of the first item.
    pub(crate) fn address(&self) -> u64 {
        self.items.array.address() + (self.items.first * size_of::<T>()) as u64
    }

    /// Returns the address of the first item as a kernel argument; for a view without items, that of the array.
    pub(crate) fn argument(&self) -> Argument {
        Argument::from_item(&self.items.array, if self.extents.contains(&0) { 0 } else { self.items.first })
    }
}

#[cfg(test)]
mod tests {
    use crate::space::check_apart;

    #[test]
    fn views_whose_items_share_memory_are_refused() {
        for strides in [[12, 4, 1], [1, 2, 6], [1, 3, 20], [30, 1, 3]] {
            check_apart([2, 3, 4], strides).unwrap();
        }
        for strides in [[0, 4, 1], [1, 1, 6], [1, 2, 5]] {
            assert!(check_apart([2, 3, 4], strides).unwrap_err().to_string().contains("share"), "{strides:?}");
        }
        check_apart([1, 0, 4], [0, 0, 0]).unwrap();
        check_apart([1, 1, 4], [0, 0, 1]).unwrap();
    }
}
