//! Kernel launches: the one place where arguments become pointers.

use super::array::CudaArray;
use super::error::checked;
use super::kernels::Function;
use super::stream::Stream;
use crate::space::Item;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::ffi::c_void;

/// Blocks, threads per block, bytes of dynamic shared memory per block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub blocks: u32,
    pub threads: u32,
    pub shared: u32,
    /// Whether all blocks are resident at once, so that they may wait for each other.
    pub cooperative: bool,
}

impl Grid {
    /// `blocks` blocks of `threads` threads. A number above 2^32 stays one that the driver refuses.
    pub fn new(blocks: usize, threads: u32) -> Self {
        Grid { blocks: u32::try_from(blocks).unwrap_or(u32::MAX), threads, shared: 0, cooperative: false }
    }

    /// Makes enough blocks of `threads` threads for one thread per item.
    pub fn cover(items: usize, threads: u32) -> Self {
        Self::new(items.div_ceil(threads as usize), threads)
    }

    /// Adds dynamic shared memory, in bytes per block.
    pub fn shared(self, bytes: usize) -> Self {
        Grid { shared: bytes as u32, ..self }
    }

    /// Requires all blocks to be resident at once.
    pub fn cooperative(self) -> Self {
        Grid { cooperative: true, ..self }
    }
}

/// One kernel argument: at most 8 bytes, or a struct by its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    bits: u64,
    size: u8,
}

impl Argument {
    /// Passes a struct by value, of 2 to 31 words. The launch copies it.
    pub fn of_struct<const N: usize>(words: &[u64; N]) -> Self {
        const { assert!(N > 1 && N < 32, "its size is one byte") };
        Argument { bits: words.as_ptr().addr() as u64, size: (N * size_of::<u64>()) as u8 }
    }
}

impl Argument {
    /// Passes a struct by value, of 2 to 31 words whose number is not constant.
    pub fn of_words(words: &[u64]) -> Self {
        assert!((2..32).contains(&words.len()), "its size is one byte");
        Argument { bits: words.as_ptr().addr() as u64, size: size_of_val(words) as u8 }
    }

    /// Passes numbers by value, 2 to 31, as a struct.
    pub fn of_numbers(numbers: &[f64]) -> Self {
        assert!((2..32).contains(&numbers.len()), "its size is one byte");
        Argument { bits: numbers.as_ptr().addr() as u64, size: size_of_val(numbers) as u8 }
    }
}

macro_rules! argument {
    ($($number:ty as $bits:ty),*) => {$(
        impl From<$number> for Argument {
            fn from(value: $number) -> Self {
                Argument { bits: u64::from(<$bits>::from_ne_bytes(value.to_ne_bytes())), size: size_of::<$number>() as u8 }
            }
        }
    )*};
}
argument!(i32 as u32, u32 as u32, u64 as u64, f32 as u32, f64 as u64);

impl<T: Item> From<&CudaArray<T>> for Argument {
    fn from(array: &CudaArray<T>) -> Self {
        Argument { bits: array.address(), size: 8 }
    }
}

impl<T: Item> From<&mut CudaArray<T>> for Argument {
    fn from(array: &mut CudaArray<T>) -> Self {
        Argument { bits: array.address(), size: 8 }
    }
}

impl Argument {
    /// The device address of item `first` of an array.
    pub fn from_item<T: Item>(array: &CudaArray<T>, first: usize) -> Self {
        Argument { bits: array.address() + (first * size_of::<T>()) as u64, size: 8 }
    }

    /// A null pointer, for an array that the kernel does not use.
    pub const NULL: Argument = Argument { bits: 0, size: 8 };
}

/// The arguments of a kernel, in its order.
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => {
        &[$($crate::space::cuda::Argument::from($argument)),*]
    };
}
pub(crate) use arguments;

/// Enqueues a kernel. Checks number and sizes of the arguments against the compiled kernel. The caller checks that the kernel
/// stays inside its arrays.
pub(super) fn launch(
    stream: &Stream,
    name: &'static str,
    function: Function,
    grid: Grid,
    arguments: &[Argument],
) -> Result<()> {
    if grid.blocks == 0 {
        return Ok(());
    }
    if let Some((sizes, count)) = function.parameters
        && (arguments.len() != count || arguments.iter().zip(sizes).any(|(argument, size)| argument.size != size))
    {
        let given: Vec<u8> = arguments.iter().map(|argument| argument.size).collect();
        return Err(Error::Device(format!("{name}: arguments of {given:?} bytes, expected {:?}", &sizes[..count])));
    }
    let mut pointers = [std::ptr::null_mut::<c_void>(); Function::MOST];
    for (pointer, argument) in pointers.iter_mut().zip(arguments) {
        // A struct is where its address says; the driver copies it and only reads it while the launch is enqueued.
        *pointer =
            if argument.size > 8 { argument.bits as *mut c_void } else { (&raw const argument.bits).cast_mut().cast() };
    }
    let pointers = &mut pointers[..arguments.len()];
    let (blocks, threads) = ((grid.blocks, 1, 1), (grid.threads, 1, 1));
    // SAFETY: the function is of a loaded module, the argument list has its shape, the driver copies it during the call;
    // arrays are freed in the order of their stream, so they outlive the kernel.
    let launched = unsafe {
        if grid.shared > 48 << 10 {
            let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            checked(result::function::set_function_attribute(function.handle, which, grid.shared as i32), name)?;
        }
        if grid.cooperative {
            result::launch_cooperative_kernel(function.handle, blocks, threads, grid.shared, stream.handle, pointers)
        } else {
            result::launch_kernel(function.handle, blocks, threads, grid.shared, stream.handle, pointers)
        }
    };
    checked(launched, name)
}
