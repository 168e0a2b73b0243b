//! Where work runs and where its arrays live.
//!
//! A *memory space* says what an array is ([`MemorySpace`]); an *execution space* runs loops over arrays of one memory
//! space ([`ExecutionSpace`]). [`Serial`] and [`Threads`] share the host's memory and one body for every kernel
//! ([`HostSpace`]); a device adds a memory space, an execution space and a body of its own. The names follow Kokkos
//! (Edwards, Trott, Sunderland 2014, section 3).
//!
//! ```
//! use minifenl::space::{ExecutionSpace, Layout, Threads, View, offsets};
//!
//! let space = Threads::new(2)?;
//! // Rows of 2, 0 and 3 entries.
//! assert_eq!(offsets(&space, &[2, 0, 3]), [0, 2, 2, 5]);
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
//! All `unsafe` code of the host is in this room: [`atomic`], `memory` and `prefetch`.

pub mod atomic;
mod choice;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
pub mod cuda;
mod host;
pub mod lanes;
mod memory;
mod prefetch;
mod scan;
mod step_times;
mod view;

pub(crate) use choice::named_choice;
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaArray, CudaMemory, DeviceView, DeviceViewMut};
pub use host::{HostSpace, Serial, Threads, allowed_cores, even_bounds, split_at};
pub use memory::{available_bytes, peak_bytes, zeroed};
pub use prefetch::prefetch;
pub use scan::{exclusive_scan, offsets};
pub use step_times::StepTimes;
pub use view::{Layout, Strided, View, ViewMut};

use crate::Result;
use std::fmt::Debug;

/// Items that an array of any space may hold: plain numbers.
pub trait Item: Copy + Default + PartialEq + Send + Sync + Debug + 'static {}
impl Item for u8 {}
impl Item for u16 {}
impl Item for u32 {}
impl Item for u64 {}
impl Item for i32 {}
impl Item for f32 {}
impl Item for f64 {}
/// A point.
impl Item for [f64; 3] {}

/// A kind of memory: what "an array of T" and a view of one are there.
pub trait MemorySpace: Clone + Copy + Debug + Default + Send + Sync + 'static {
    /// An owned array of `T`.
    type Array<T: Item>: Clone + Debug + Send + Sync;

    /// A read-only view `[i0, i1, ...]` of `R` indices.
    type View<'a, T: Item, const R: usize>: Strided<R>;

    /// A view through which items can be written.
    type ViewMut<'a, T: Item, const R: usize>: Strided<R>;
}

/// Ordinary memory of the host; an array is a `Vec`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory;

impl MemorySpace for HostMemory {
    type Array<T: Item> = Vec<T>;
    type View<'a, T: Item, const R: usize> = View<'a, T, R>;
    type ViewMut<'a, T: Item, const R: usize> = ViewMut<'a, T, R>;
}

/// Owned array of `T` in the memory of execution space `S`.
pub type Array<S, T> = <<S as ExecutionSpace>::Memory as MemorySpace>::Array<T>;

/// Scalars that one [`begin_read`](ExecutionSpace::begin_read) copies.
pub const SCALARS: usize = 8;

/// Something that runs kernels on arrays of one memory space.
pub trait ExecutionSpace: Clone + Debug {
    /// The memory its kernels read and write.
    type Memory: MemorySpace;

    /// A copy to the host on its way, see [`begin_read`](Self::begin_read).
    type Reading: Debug;

    /// What [`repeat`](Self::repeat) remembers of the work.
    type Recording: Debug + Default;

    /// Name for people and reports, e.g. `threads(4)`.
    fn label(&self) -> String;

    /// A zero-filled array of `len` items.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) where the memory cannot be had.
    fn zeros<T: Item>(&self, len: usize) -> Result<Array<Self, T>>;

    /// Copies host data into a new array of this space.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    fn upload<T: Item>(&self, data: &[T]) -> Result<Array<Self, T>>;

    /// Copies an array of this space to the host; waits for the kernels that write it.
    ///
    /// # Errors
    /// A device's failure, where there is a device.
    fn download<T: Item>(&self, array: &Array<Self, T>) -> Result<Vec<T>>;

    /// Copies the first `out.len()` items of an array to the host, without allocating; waits for the kernels that write it.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    fn read<T: Item>(&self, array: &Array<Self, T>, out: &mut [T]) -> Result<()>;

    /// Starts copying the first scalars of an array to the host, behind the kernels launched so far; a device does not wait.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    fn begin_read(&self, scalars: &Array<Self, f64>) -> Result<Self::Reading>;

    /// Waits for a copy that was begun and hands it over; zeros stand for scalars that the array does not have.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    fn finish_read(&self, reading: Self::Reading) -> Result<[f64; SCALARS]>;

    /// Does `work`, which launches the same kernels with the same arguments whenever it is called with this recording. A
    /// device may record it and replay the record in one launch; scalars that change must live in its memory.
    ///
    /// # Errors
    /// Those of the work, and a device's failure.
    fn repeat(&self, recording: &mut Self::Recording, work: impl FnMut() -> Result<()>) -> Result<()>;

    /// Returns once every kernel launched so far is done.
    ///
    /// # Errors
    /// A device's failure, where there is a device.
    fn fence(&self) -> Result<()>;
}
