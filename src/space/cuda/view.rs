//! Multi-dimensional views of arrays in device memory: shapes only, since the host cannot read the items.
//!
//! As [`View`](crate::space::View) and [`ViewMut`](crate::space::ViewMut) of a slice, with the position of the first item
//! instead of a sub-slice. Threads write concurrently, so no two items of a mutable view may share an address.

use super::{Argument, CudaArray};
use crate::space::view::{check_apart, check_reach};
use crate::space::{Item, Layout, Strided};
use crate::{Error, Result};

/// Read-only view `[i0, i1, ...]` of an array in device memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceView<'a, T: Item, const R: usize> {
    array: &'a CudaArray<T>,
    first: usize,
    extents: [usize; R],
    strides: [usize; R],
}

/// Mutable view `[i0, i1, ...]` of an array in device memory, for kernels that write.
#[derive(Debug)]
pub struct DeviceViewMut<'a, T: Item, const R: usize> {
    array: &'a mut CudaArray<T>,
    first: usize,
    extents: [usize; R],
    strides: [usize; R],
}

macro_rules! view {
    ($view:ident, $array:ty, $check:expr) => {
        impl<'a, T: Item, const R: usize> $view<'a, T, R> {
            /// A packed view of the first `extents.product()` items of `array`.
            ///
            /// # Errors
            /// [`Error::Invalid`] if `array` is too short.
            pub fn new(array: $array, extents: [usize; R], layout: Layout) -> Result<Self> {
                Self::strided(array, 0, extents, layout.strides(extents))
            }

            /// A view from item `first` on with any strides, in items.
            ///
            /// # Errors
            /// [`Error::Invalid`] if the view reaches past the end of `array`, or is mutable and two items may share an
            /// address.
            pub fn strided(array: $array, first: usize, extents: [usize; R], strides: [usize; R]) -> Result<Self> {
                check_reach(array.len(), first, extents, strides)?;
                $check(extents, strides)?;
                Ok(Self { array, first, extents, strides })
            }

            /// Returns the device address of the first item.
            pub(crate) fn address(&self) -> u64 {
                self.array.address() + (self.first * size_of::<T>()) as u64
            }

            /// Returns the address of the first item as a kernel argument; for a view without items, that of the array.
            pub(crate) fn argument(&self) -> Argument {
                Argument::from_item(self.array, if self.extents.contains(&0) { 0 } else { self.first })
            }
        }

        impl<T: Item, const R: usize> Strided<R> for $view<'_, T, R> {
            fn extents(&self) -> [usize; R] {
                self.extents
            }
            fn strides(&self) -> [usize; R] {
                self.strides
            }
        }
    };
}
view!(DeviceView, &'a CudaArray<T>, |_, _| Ok::<(), Error>(()));
view!(DeviceViewMut, &'a mut CudaArray<T>, check_apart);

#[cfg(test)]
mod tests {
    use super::*;

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
