//! Execution spaces, in which kernels run, and memory spaces, in which arrays live.
//!
//! A *memory space* defines the type of an array ([`MemorySpace`]); an *execution space* runs loops over arrays of one
//! memory space ([`ExecutionSpace`]). The host has one, [`Threads`], which [`Serial`] is with one thread; a device adds its own memory space, execution space and implementation. The names
//! follow Kokkos (Edwards, Trott, Sunderland 2014, section 3).
//!
//! ```
//! use minifenl::space::{ExecutionSpace, Layout, Threads, View, offsets};
//!
//! let space = Threads::new(2)?;
//! // Rows of 2, 0 and 3 entries.
//! assert_eq!(offsets(&space, &[2, 0, 3])?, [0, 2, 2, 5]);
//!
//! // The same six numbers, with the last index or the first one running fastest.
//! let numbers = space.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let right = View::new(&numbers, [2, 3], Layout::Right)?;
//! let left = View::new(&numbers, [2, 3], Layout::Left)?;
//! assert_eq!((right[[1, 0]], left[[1, 0]]), (4.0, 2.0));
//! assert!(View::new(&numbers, [2, 4], Layout::Left).is_err());
//! # Ok::<(), minifenl::Error>(())
//! ```
//!
//! All `unsafe` code of host spaces is in this module: [`atomic`], `memory` and `prefetch`; that of MPI is in `comm/mpi`.

pub mod atomic;
mod choice;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
pub mod cuda;
#[cfg(feature = "cuda")]
mod device_text;
mod dual_view;
mod host;
mod host_loops;
pub mod lanes;
mod limits;
mod loops;
mod memory;
mod prefetch;
mod remap;
mod scan;
mod share;
mod start;
mod step_times;
mod streams;
mod teams;
mod tiles;
mod view;

pub use choice::named_choice;
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaArray, CudaMemory, DeviceView, DeviceViewMut};
#[cfg(feature = "cuda")]
pub use device_text::DeviceText;
pub use dual_view::DualView;
pub use host::{Scan, Serial, Threads, allowed_cores, even_bounds, split_at};
pub use limits::FreeMemory;
pub use loops::{IndexFn, ItemFn, Loops, Reduction};
pub use memory::{Item, available_bytes, peak_bytes, zeroed};
pub(crate) use memory::{admit, try_collect, try_push, try_reserve, try_with_capacity, try_zeroed};
pub(crate) use prefetch::PREFETCH_DISTANCE;
pub use prefetch::{prefetch, prefetch_l2};
pub use scan::{exclusive_scan, offsets};
pub use step_times::StepTimes;
pub use streams::{Streams, remap};
pub use teams::{Team, TeamFn};
pub use tiles::{Scratch, TileFn};
pub(crate) use view::check_apart;
pub use view::{Layout, Strided, View, ViewMut};

use crate::Result;
use std::fmt::Debug;

/// A kind of memory: its types of arrays and views.
pub trait MemorySpace: Clone + Copy + Debug + Default + Send + Sync + 'static {
    /// An owned array of `T`.
    type Array<T: Item>: Debug + Send + Sync;

    /// The items of an array whose length stays: a slice on the host, the array itself on a GPU.
    type Slice<T: Item>: ?Sized + Debug + Send + Sync;

    /// Returns the items of an array.
    fn slice<T: Item>(array: &Self::Array<T>) -> &Self::Slice<T>;

    /// Returns the items of an array, writable.
    fn slice_mut<T: Item>(array: &mut Self::Array<T>) -> &mut Self::Slice<T>;

    /// Returns the number of items.
    fn len<T: Item>(items: &Self::Slice<T>) -> usize;

    /// What a read-only view [`Strided`] holds.
    type Shared<'a, T: Item>;

    /// What a writable view holds.
    type Unique<'a, T: Item>;
}

/// Host memory; an array is a `Vec`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory;

impl MemorySpace for HostMemory {
    type Array<T: Item> = Vec<T>;
    type Slice<T: Item> = [T];

    fn slice<T: Item>(array: &Vec<T>) -> &[T] {
        array
    }

    fn slice_mut<T: Item>(array: &mut Vec<T>) -> &mut [T] {
        array
    }

    fn len<T: Item>(items: &[T]) -> usize {
        items.len()
    }

    type Shared<'a, T: Item> = &'a [T];
    type Unique<'a, T: Item> = &'a mut [T];
}

/// An owned array of `T` in the memory of execution space `S`.
pub type Array<S, T> = <<S as ExecutionSpace>::Memory as MemorySpace>::Array<T>;

/// The items of an array in the memory of execution space `S`: `[T]` on a host, so that operations take slices, arrays and vectors;
/// the array on a GPU.
pub type Slice<S, T> = <<S as ExecutionSpace>::Memory as MemorySpace>::Slice<T>;

/// Number of scalars that one [`begin_read`](ExecutionSpace::begin_read) copies.
pub const SCALARS: usize = 8;

/// A processor, or a group of processors, that runs kernels on its arrays.
pub trait ExecutionSpace: Clone + Debug + 'static {
    /// Memory that the kernels read and write.
    type Memory: MemorySpace;

    /// A copy to the host in progress, see [`begin_read`](Self::begin_read).
    type Reading: Debug;

    /// The recorded work of [`repeat`](Self::repeat).
    type Recording: Debug + Default;

    /// Whether a kernel is done when its launch returns, so that the clock of the host measures it.
    const SYNCHRONOUS: bool;

    /// Returns the name for messages and reports, e.g. `threads(4)`.
    fn label(&self) -> String;

    /// Returns a zeroed array of `len` items.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available; a failure of the device, if there is one.
    fn zeros<T: Item>(&self, len: usize) -> Result<Array<Self, T>>;

    /// Returns an array of `len` arbitrary items. The caller writes all of them before it reads any. A device saves the time to
    /// zero them; a host zeroes memory anyway.
    ///
    /// # Errors
    /// Those of [`zeros`](Self::zeros).
    fn to_be_written<T: Item>(&self, len: usize) -> Result<Array<Self, T>> {
        self.zeros(len)
    }

    /// Copies host data into a new array of this space.
    ///
    /// # Errors
    /// Those of [`zeros`](Self::zeros).
    fn upload<T: Item>(&self, data: &[T]) -> Result<Array<Self, T>>;

    /// Copies an array of this space to the host. Waits for the kernels that write it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the host lacks the memory; a failure of the device, if there is one.
    fn download<T: Item>(&self, array: &Array<Self, T>) -> Result<Vec<T>>;

    /// Copies the first `out.len()` items of an array to the host without allocating. Waits for the kernels that write
    /// it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a shorter array; those of [`download`](Self::download).
    fn read<T: Item>(&self, array: &Array<Self, T>, out: &mut [T]) -> Result<()>;

    /// Copies host data over the first items of an array without allocating it anew. Kernels launched later see the copy.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the array is shorter than the data, and a failure of the device.
    fn overwrite<T: Item>(&self, data: &[T], array: &mut Array<Self, T>) -> Result<()>;

    /// Starts to copy the first scalars of an array to the host, after the kernels launched so far. The host of a
    /// device does not wait, so it can enqueue further kernels behind the copy.
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    fn begin_read(&self, scalars: &Array<Self, f64>) -> Result<Self::Reading>;

    /// Waits for a copy that [`begin_read`](Self::begin_read) started and returns the scalars, with zeros for scalars
    /// that the array does not have.
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    fn finish_read(&self, reading: Self::Reading) -> Result<[f64; SCALARS]>;

    /// Runs `work`, which must launch the same kernels with the same arguments in every call with this recording. A
    /// device may record the launches and replay them as one, which saves their launch overhead. Scalars that change
    /// between calls must therefore be in device memory.
    ///
    /// # Errors
    /// Those of the work, failures of the device, and [`Error::Invalid`](crate::Error::Invalid) for a recording of another stream.
    fn repeat(&self, recording: &mut Self::Recording, work: impl FnMut() -> Result<()>) -> Result<()>;

    /// Number of host threads that run kernels; 1 on a device.
    fn threads(&self) -> usize;

    /// Returns when every kernel launched so far has finished.
    ///
    /// # Errors
    /// A failure of the device, if there is one.
    fn fence(&self) -> Result<()>;
}
