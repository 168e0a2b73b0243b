//! Work side by side: several queues of one device, and copies that the host does not wait for.
//!
//! ```text
//!                                   GPU                                 host
//! fork                              another stream                      the same threads
//! staging                           page-locked memory                  a vector
//! begin_upload, begin_download      enqueued behind earlier work        done on return
//! is_done                           query of the stream                 true
//! ```
//! Work of one space runs in order; work of its forks runs beside it. Arrays belong to the space that made them: asynchronous copies check
//! it, other copies, kernels and loops do not, and an array that is dropped is freed behind the work of its own space only.
//!
//! ```
//! use minifenl::space::{ExecutionSpace, Serial, Streams};
//!
//! let space = Serial.fork()?;
//! let mut there = space.zeros::<f64>(3)?;
//! let mut input = space.staging::<f64>(3)?;
//! input.copy_from_slice(&[1.0, 2.0, 3.0]);
//! let upload = space.begin_upload(input, &mut there)?;
//! let download = space.begin_download(&there, space.staging(3)?)?;
//! // Other work of the host.
//! while !space.is_done()? {}
//! assert_eq!(*space.finish(download)?, [1.0, 2.0, 3.0]);
//! let input = space.finish(upload)?; // for the next copy
//! # Ok::<(), minifenl::Error>(())
//! ```

use super::{ExecutionSpace, Item, MemorySpace, Slice, Strided, Threads, View, ViewMut, memory::try_zeroed};
use crate::Result;
use crate::error::check_at_least;
use std::fmt::Debug;
use std::ops::DerefMut;

/// A space with forks, asynchronous copies and copies between views.
pub trait Streams: ExecutionSpace {
    /// Host memory that copies read and write directly.
    type Staging<T: Item>: Debug + DerefMut<Target = [T]>;

    /// A copy under way, which holds its host memory.
    type Copying<T: Item>: Debug;

    /// Returns a space on the same device whose work runs beside that of this one.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device), here and below, when a device fails.
    fn fork(&self) -> Result<Self>;

    /// Returns zeroed host memory for copies of `len` items.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) on a host.
    fn staging<T: Item>(&self, len: usize) -> Result<Self::Staging<T>>;

    /// Starts to copy host memory over the first items of an array, after the work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a short array, [`Error::Invalid`](crate::Error::Invalid) for an array of another fork, or within
    /// [`repeat`](ExecutionSpace::repeat).
    fn begin_upload<T: Item>(&self, from: Self::Staging<T>, to: &mut Slice<Self, T>) -> Result<Self::Copying<T>>;

    /// Starts to copy the first items of an array to host memory, after the work enqueued so far.
    ///
    /// # Errors
    /// Those of [`begin_upload`](Self::begin_upload).
    fn begin_download<T: Item>(&self, from: &Slice<Self, T>, to: Self::Staging<T>) -> Result<Self::Copying<T>>;

    /// Waits for a copy and returns its host memory.
    ///
    /// # Errors
    /// A failure of the work before it.
    fn finish<T: Item>(&self, copying: Self::Copying<T>) -> Result<Self::Staging<T>>;

    /// Returns whether all work enqueued so far is done, without waiting.
    ///
    /// # Errors
    /// A failure of that work.
    fn is_done(&self) -> Result<bool>;

    /// Copies a view to another one: the work of [`remap`].
    ///
    /// # Errors
    /// Those of [`remap`].
    fn remap<T: Item, const R: usize>(
        &self,
        from: &Strided<<Self::Memory as MemorySpace>::Shared<'_, T>, R>,
        to: &mut Strided<<Self::Memory as MemorySpace>::Unique<'_, T>, R>,
    ) -> Result<()>;
}

/// Copies a view to another one of the same extents, on any space; on a GPU views have at most 6 indices of an extent above 1, or 5 with
/// items of several words. The result does not depend on the number of threads.
///
/// ```
/// use minifenl::space::{Layout, Serial, View, ViewMut, remap};
///
/// let (right, mut left) = ([1, 2, 3, 4, 5, 6], [0; 6]);
/// remap(&Serial, &View::new(&right, [2, 3], Layout::Right)?, &mut ViewMut::new(&mut left, [2, 3], Layout::Left)?)?;
/// assert_eq!(left, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for other extents, [`Error::Invalid`](crate::Error::Invalid) if two items of `to` may share their
/// place or a GPU does not take so many indices; a device's failure.
pub fn remap<S: Streams, T: Item, const R: usize>(
    space: &S,
    from: &Strided<<S::Memory as MemorySpace>::Shared<'_, T>, R>,
    to: &mut Strided<<S::Memory as MemorySpace>::Unique<'_, T>, R>,
) -> Result<()> {
    space.remap(from, to)
}

impl Streams for Threads {
    type Staging<T: Item> = Vec<T>;
    type Copying<T: Item> = Vec<T>;

    fn fork(&self) -> Result<Self> {
        Ok(self.clone())
    }

    fn staging<T: Item>(&self, len: usize) -> Result<Vec<T>> {
        try_zeroed("host memory of copies", len)
    }

    fn begin_upload<T: Item>(&self, from: Vec<T>, to: &mut [T]) -> Result<Vec<T>> {
        check_at_least("begin_upload", "to", to.len(), from.len())?;
        to[..from.len()].copy_from_slice(&from);
        Ok(from)
    }

    fn begin_download<T: Item>(&self, from: &[T], mut to: Vec<T>) -> Result<Vec<T>> {
        check_at_least("begin_download", "from", from.len(), to.len())?;
        let len = to.len();
        to.copy_from_slice(&from[..len]);
        Ok(to)
    }

    fn finish<T: Item>(&self, copying: Vec<T>) -> Result<Vec<T>> {
        Ok(copying)
    }

    fn is_done(&self) -> Result<bool> {
        Ok(true)
    }

    fn remap<T: Item, const R: usize>(&self, from: &View<'_, T, R>, to: &mut ViewMut<'_, T, R>) -> Result<()> {
        self.copy_view(from, to)
    }
}
