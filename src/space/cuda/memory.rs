//! The memory of a GPU as a memory space.

use super::{CudaArray, DeviceView, DeviceViewMut};
use crate::space::{Item, MemorySpace};

/// Memory of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CudaMemory;

impl MemorySpace for CudaMemory {
    type Array<T: Item> = CudaArray<T>;
    type Slice<T: Item> = CudaArray<T>;
    type View<'a, T: Item, const R: usize> = DeviceView<'a, T, R>;
    type ViewMut<'a, T: Item, const R: usize> = DeviceViewMut<'a, T, R>;

    fn slice<T: Item>(array: &CudaArray<T>) -> &CudaArray<T> {
        array
    }

    fn slice_mut<T: Item>(array: &mut CudaArray<T>) -> &mut CudaArray<T> {
        array
    }
}
