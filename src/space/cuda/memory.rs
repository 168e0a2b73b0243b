//! The memory of a GPU as a memory space.

use super::{CudaArray, Part};
use crate::space::{Item, MemorySpace};

/// Memory of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CudaMemory;

impl MemorySpace for CudaMemory {
    type Array<T: Item> = CudaArray<T>;
    type Slice<T: Item> = CudaArray<T>;
    type Shared<'a, T: Item> = Part<&'a CudaArray<T>>;
    type Unique<'a, T: Item> = Part<&'a mut CudaArray<T>>;

    fn slice<T: Item>(array: &CudaArray<T>) -> &CudaArray<T> {
        array
    }

    fn slice_mut<T: Item>(array: &mut CudaArray<T>) -> &mut CudaArray<T> {
        array
    }
}
