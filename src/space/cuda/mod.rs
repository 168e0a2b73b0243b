//! NVIDIA GPUs: an execution space whose kernels are CUDA C++ (folder `kernels/`), compiled at first use for the device.
//!
//! ```text
//! Device   context, loaded kernels       one per GPU, shared
//!   Cuda   stream, the execution space   any number per device; ordered within a stream only
//!     CudaArray<T>                       allocated and freed in the order of its stream
//! ```
//! Calls enqueue work and return, except those that are documented to wait ([`fence`](ExecutionSpace::fence), reads,
//! [`Event::wait`]). The driver and NVRTC are loaded at run time. If one is missing, [`Error::Device`] says what to install.
//!
//! Safety: this folder holds every call into the driver, and so every kernel launch.

mod array;
mod cache;
mod compile;
mod device;
mod error;
mod foreign;
mod kernels;
mod launch;
mod library;
mod loops;
mod nccl;
mod partials;
mod peer;
mod pinned;
mod probe;
mod recording;
pub(crate) mod remap;
mod scan;
mod source;
mod stream;
mod streams;
mod view;

pub use array::CudaArray;
pub use compile::{Architecture, architectures, nvrtc_version};
pub use device::Device;
pub use kernels::KernelInfo;
pub(crate) use launch::{Argument, Grid, arguments};
pub(crate) use nccl::Nccl;
pub(crate) use peer::{HANDLE, HostWord, Mapped, Window};
pub use pinned::pinned_bytes;
pub use probe::{DeviceInfo, NO_GPU, devices};
pub use recording::Recording;
pub use scan::Offsets;
pub(crate) use scan::{SPACE, bits_of};
pub use source::KernelFile;
pub(crate) use source::kernel_file;
pub use stream::Event;
pub use view::{DeviceView, DeviceViewMut, Part};

use super::{Array, ExecutionSpace, Item, MemorySpace, SCALARS, Streams, try_zeroed};
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use error::checked;
use kernels::{Function, Modules, key_of};
use pinned::{Copying, PIECE, PinnedArray, PinnedPool};
use std::fmt;
use std::sync::Arc;
use stream::Stream;

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

    fn len<T: Item>(items: &CudaArray<T>) -> usize {
        items.len()
    }
}

/// A stream of a GPU as an execution space. Kernels run in the order of their launch, concurrently with other streams.
#[derive(Clone)]
pub struct Cuda {
    stream: Arc<Stream>,
    pinned: Arc<PinnedPool>,
    /// Counts the finished blocks of the running reduction; zero between kernels.
    ticket: Arc<CudaArray<u32>>,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({:?})", self.stream.device)
    }
}

impl Cuda {
    /// A new stream on GPU `ordinal`.
    ///
    /// # Errors
    /// [`Error::Device`] that says what is missing; [`Error::OutOfMemory`].
    pub fn new(ordinal: usize) -> Result<Self> {
        let stream = Arc::new(Stream::new(Device::get(ordinal)?)?);
        Self::on(stream.clone(), Arc::new(PinnedPool::new(stream.device.clone())))
    }

    /// Returns a new stream of high priority on the same GPU.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub(crate) fn fork_urgent(&self) -> Result<Self> {
        Self::on(Arc::new(Stream::urgent(self.stream.device.clone())?), self.pinned.clone())
    }

    fn on(stream: Arc<Stream>, pinned: Arc<PinnedPool>) -> Result<Self> {
        Ok(Cuda { ticket: partials::ticket(&stream)?, stream, pinned })
    }

    /// Returns the GPU.
    pub fn device(&self) -> &Arc<Device> {
        &self.stream.device
    }

    /// Returns the stream (a `CUstream` or `cudaStream_t`), for calls of other libraries with [`CudaArray::address`]. Work that
    /// they enqueue on it runs in order with the kernels of this space. The stream lives as long as this space or an array of it.
    pub fn raw_stream(&self) -> *mut std::ffi::c_void {
        self.stream.handle.cast()
    }

    /// Records a mark after the work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.stream.device)?;
        event.record(&self.stream)?;
        Ok(event)
    }

    /// Delays work enqueued from now on until another stream has passed `event`. The host does not wait.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        self.device().bind()?;
        // SAFETY: both live.
        checked(unsafe { result::stream::wait_event(self.stream.handle, event.handle, flags) }, "cuStreamWaitEvent")
    }

    /// Compiles and loads all kernels of `files`, which otherwise happens at their first launch.
    ///
    /// # Errors
    /// [`Error::Device`] when NVRTC is missing or the driver fails.
    pub fn load_kernels(&self, files: &[&'static KernelFile]) -> Result<()> {
        self.modules()?.load_files(files)
    }

    /// Compiles and loads the kernels of a file that is compiled for `defines`, as [`launch_specialised`](Self::launch_specialised).
    pub(crate) fn load_specialised(&self, file: &'static KernelFile, defines: &str) -> Result<()> {
        self.modules()?.load(file, defines)
    }

    /// Returns registers, memory and occupancy of all kernels of `files`, compiling them if needed.
    ///
    /// # Errors
    /// [`Error::Device`] when NVRTC is missing or the driver is older than 12.4.
    pub fn kernel_info(&self, files: &[&'static KernelFile]) -> Result<Vec<KernelInfo>> {
        let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        self.modules()?.listed(self.device().attribute(which)?, files)
    }

    /// Maps memory for arrays of `bytes` in total ahead of their allocation: the first array in a byte of memory waits for the driver to
    /// map it, about 1 ms per GB on an H200. If it cannot be had, arrays map theirs one by one, as they do beyond the sum. Begins a new
    /// measurement of the peak. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        // The pool keeps the memory of freed arrays.
        match self.unfilled::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX)) {
            Ok(all) => drop(all),
            Err(Error::OutOfMemory { .. }) => {}
            Err(error) => return Err(error),
        }
        self.fence()?;
        self.device().reset_peak()
    }

    /// Allocates an array with arbitrary content, for a kernel that writes all of it.
    pub(crate) fn unfilled<T: Item>(&self, len: usize) -> Result<CudaArray<T>> {
        CudaArray::unfilled(&self.stream, len)
    }

    /// Sets every byte of an array.
    pub(crate) fn fill_bytes<T: Item>(&self, array: &mut CudaArray<T>, byte: u8) -> Result<()> {
        self.device().bind()?;
        array.fill_bytes(&self.stream, byte)
    }

    /// Copies the first `count` items on the device.
    pub(crate) fn copy_items<T: Item>(&self, count: usize, from: &CudaArray<T>, to: &mut CudaArray<T>) -> Result<()> {
        crate::error::check_at_least("copy", "from", from.len(), count)?;
        crate::error::check_at_least("copy", "to", to.len(), count)?;
        self.device().bind()?;
        to.copy(&self.stream, from, count)
    }

    /// Returns a kernel, whose file is compiled unless it was before.
    fn function(&self, file: &'static KernelFile, defines: &str, name: &'static str) -> Result<Function> {
        self.modules()?.function(file, key_of(defines), || defines.into(), name)
    }

    /// Returns the kernels of the GPU, whose context becomes current.
    fn modules(&self) -> Result<&Modules> {
        self.device().bind()?;
        Ok(&self.device().modules)
    }

    /// Enqueues kernel `name` of `file`; `arguments!` makes the list.
    pub(crate) fn launch(
        &self,
        file: &'static KernelFile,
        name: &'static str,
        grid: Grid,
        arguments: &[Argument],
    ) -> Result<()> {
        self.launch_specialised(file, "", name, grid, arguments)
    }

    /// Enqueues kernel `name` of a file compiled for the sizes in `defines`. The first call with these sizes compiles
    /// the file, in about half a second, unless the cache on disk has it.
    pub(crate) fn launch_specialised(
        &self,
        file: &'static KernelFile,
        defines: &str,
        name: &'static str,
        grid: Grid,
        arguments: &[Argument],
    ) -> Result<()> {
        launch::launch(&self.stream, name, self.function(file, defines, name)?, grid, arguments)
    }

    /// Returns how many blocks of these sizes are resident on the GPU at once.
    pub(crate) fn resident_blocks(
        &self,
        file: &'static KernelFile,
        name: &'static str,
        threads: u32,
        shared: usize,
    ) -> Result<usize> {
        let multiprocessors = self.device().info().multiprocessors as usize;
        Ok(self.function(file, "", name)?.blocks_per_multiprocessor(threads, shared)? * multiprocessors)
    }

    /// Returns the largest shared memory of a block, in bytes.
    pub(crate) fn shared_limit(&self) -> Result<usize> {
        let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        Ok(self.device().attribute(which)? as usize)
    }

    /// Returns the counter that reductions of this stream use and leave at zero.
    pub(crate) fn ticket(&self) -> &CudaArray<u32> {
        &self.ticket
    }

    /// Copies host data to the items from `first` on, through page-locked memory; does not wait for the copy.
    pub(crate) fn write<T: Item>(&self, data: &[T], first: usize, array: &mut CudaArray<T>) -> Result<()> {
        crate::error::check_at_least("write", "array", array.len(), first + data.len())?;
        self.device().bind()?;
        let piece = (PIECE / size_of::<T>()).max(1);
        for (number, items) in data.chunks(piece).enumerate() {
            let mut staged = PinnedArray::unfilled(&self.pinned, items.len())?;
            staged.copy_from_slice(items);
            let to = array.address() + ((first + number * piece) * size_of::<T>()) as u64;
            // SAFETY: inside the array, as checked; the pool hands the buffer out again only after the copy.
            let copied = unsafe { result::memcpy_htod_async(to, &staged, self.stream.handle) };
            let marked = staged.mark(&self.stream);
            checked(copied, "cuMemcpyHtoDAsync")?;
            marked?;
        }
        Ok(())
    }
}

impl ExecutionSpace for Cuda {
    type Memory = CudaMemory;
    type Reading = Copying<f64>;
    type Recording = Recording;

    const SYNCHRONOUS: bool = false;

    fn label(&self) -> String {
        let info = self.device().info();
        format!("cuda:{} ({})", info.ordinal, info.name)
    }

    fn zeros<T: Item>(&self, len: usize) -> Result<Array<Self, T>> {
        CudaArray::zeros(&self.stream, len)
    }

    fn to_be_written<T: Item>(&self, len: usize) -> Result<Array<Self, T>> {
        self.unfilled(len)
    }

    fn upload<T: Item>(&self, data: &[T]) -> Result<Array<Self, T>> {
        let mut array = self.unfilled(data.len())?;
        self.write(data, 0, &mut array)?;
        Ok(array)
    }

    fn download<T: Item>(&self, array: &Array<Self, T>) -> Result<Vec<T>> {
        let mut out = try_zeroed("copy of an array of the GPU", array.len())?;
        self.read(array, &mut out)?;
        Ok(out)
    }

    fn read<T: Item>(&self, array: &Array<Self, T>, out: &mut [T]) -> Result<()> {
        crate::error::check_at_least("read", "array", array.len(), out.len())?;
        let piece = (PIECE / size_of::<T>()).max(1);
        let finish = |(copying, items): (Copying<T>, &mut [T])| -> Result<()> {
            items.copy_from_slice(&self.finish(copying)?);
            Ok(())
        };
        self.device().bind()?;
        let mut before = None;
        for (number, items) in out.chunks_mut(piece).enumerate() {
            let host = PinnedArray::unfilled(&self.pinned, items.len())?;
            let copying = self.begin_copy(array, number * piece, host)?;
            before.replace((copying, items)).map_or(Ok(()), finish)?;
        }
        before.map_or(Ok(()), finish)
    }

    fn overwrite<T: Item>(&self, data: &[T], array: &mut Array<Self, T>) -> Result<()> {
        self.write(data, 0, array)
    }

    fn begin_read(&self, scalars: &Array<Self, f64>) -> Result<Copying<f64>> {
        self.device().bind()?;
        self.begin_copy(scalars, 0, PinnedArray::unfilled(&self.pinned, scalars.len().min(SCALARS))?)
    }

    fn finish_read(&self, reading: Copying<f64>) -> Result<[f64; SCALARS]> {
        let (found, mut scalars) = (self.finish(reading)?, [0.0; SCALARS]);
        scalars[..found.len()].copy_from_slice(&found);
        Ok(scalars)
    }

    fn repeat(&self, recording: &mut Recording, work: impl FnMut() -> Result<()>) -> Result<()> {
        self.device().bind()?;
        recording.run(&self.stream, &self.ticket, work)
    }

    fn threads(&self) -> usize {
        1
    }

    fn fence(&self) -> Result<()> {
        self.stream.fence()
    }
}
