//! Host arrays: zeroed pages on demand, huge pages for large arrays, and errors instead of an abort where memory is short.
//!
//! Allocations of the library whose length grows with the mesh go through [`try_zeroed`], [`try_reserve`] or
//! [`try_collect`], but for [`zeroed`] and lists of chunks. They return [`Error::OutOfMemory`] with the name of the array, the bytes wanted and the bytes free.

#![allow(unsafe_code)]

use super::limits::{self, FreeMemory};
use crate::faults::{self, Kind};
use crate::{Error, Result};
use std::alloc::{Layout, alloc_zeroed};
use std::fmt::Debug;
use std::path::Path;

/// Items that an array of any space may hold: plain numbers.
///
/// # Safety
/// Any bytes are a value, and zero bytes are the default.
pub unsafe trait Item: Copy + Default + PartialEq + Send + Sync + Debug + 'static {}

macro_rules! items {
    ($($number:ty),*) => {$(
        // SAFETY: a number, or numbers without padding between them.
        unsafe impl Item for $number {}
    )*};
}
// The last one is the coordinates of a point.
items!(u8, u16, u32, u64, i32, f32, f64, [f64; 3]);
#[cfg(feature = "complex")]
items!(num_complex::Complex<f32>, num_complex::Complex<f64>);

/// Smallest array, in bytes, for which huge pages (2 MiB on x86-64) are requested. They need fewer address translations
/// in streams and gathers, which speeds up a plain sparse product by 10 to 25 %.
const HUGE: usize = 4 << 20;

/// Smallest array, in bytes, that is compared with the free memory before it is allocated. Reading that number takes about
/// 50 us.
const COMPARED: usize = 1 << 20;

/// Returns a zeroed array. Its pages are first touched by the thread that first writes them, which places them in
/// memory local to that thread. As `vec!`, it aborts the process when the memory is not available;
/// [`ExecutionSpace::zeros`](super::ExecutionSpace::zeros) returns an error instead.
pub fn zeroed<T: Item>(len: usize) -> Vec<T> {
    // The allocator returns zero pages for large arrays without touching them.
    let array = vec![T::default(); len];
    advise_huge_pages(&array);
    array
}

/// Returns a zeroed array as [`zeroed`], or an error when the memory is not available. Messages call it `what`.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn try_zeroed<T: Item>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(len).map_err(|_| out_of_memory(what, u64::MAX))?;
    admit(what, layout.size())?;
    if layout.size() == 0 {
        return Ok(vec![T::default(); len]);
    }
    // SAFETY: the layout has a size. zero bytes are the default of an `Item`.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(out_of_memory(what, layout.size() as u64));
    }
    // SAFETY: allocated above by the global allocator with the layout of `len` items, all of them initialised.
    let array = unsafe { Vec::from_raw_parts(start.cast::<T>(), len, len) };
    advise_huge_pages(&array);
    Ok(array)
}

/// Makes room for `additional` items behind those of `list`.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[inline(always)]
pub(crate) fn try_reserve<T>(what: &'static str, list: &mut Vec<T>, additional: usize) -> Result<()> {
    if list.capacity() - list.len() >= additional { Ok(()) } else { grow(what, list, additional) }
}

#[cold]
fn grow<T>(what: &'static str, list: &mut Vec<T>, additional: usize) -> Result<()> {
    let bytes = additional.saturating_add(list.len()).saturating_mul(size_of::<T>());
    admit(what, bytes)?;
    list.try_reserve(additional).map_err(|_| out_of_memory(what, bytes as u64))?;
    advise_huge_pages(list.spare_capacity_mut());
    Ok(())
}

/// Returns an empty list with room for `capacity` items.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn try_with_capacity<T>(what: &'static str, capacity: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    try_reserve(what, &mut list, capacity)?;
    Ok(list)
}

/// Appends an item; the list grows by doubling.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[inline(always)]
pub(crate) fn try_push<T>(what: &'static str, list: &mut Vec<T>, item: T) -> Result<()> {
    if list.len() == list.capacity() {
        try_reserve(what, list, list.len().max(4))?;
    }
    list.push(item);
    Ok(())
}

/// Collects an iterator whose length is known.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn try_collect<T>(what: &'static str, items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = try_with_capacity(what, items.len())?;
    list.extend(items);
    Ok(list)
}

/// Copies a slice.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn try_copy<T: Item>(what: &'static str, items: &[T]) -> Result<Vec<T>> {
    let mut copy = try_zeroed(what, items.len())?;
    copy.copy_from_slice(items);
    Ok(copy)
}

/// Refuses allocations larger than the free memory, even if the system overcommits. Stands alone before allocations
/// of other crates, which abort when they fail.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn admit(what: &'static str, bytes: usize) -> Result<()> {
    let is_short = bytes >= COMPARED && bytes as u64 > available_bytes();
    if is_short || bytes > 0 && faults::fails(Kind::Alloc, what) {
        return Err(out_of_memory(what, bytes as u64));
    }
    Ok(())
}

fn out_of_memory(what: &'static str, wanted: u64) -> Error {
    Error::OutOfMemory { rank: None, stage: None, what: format!("array `{what}`"), wanted, free: available_bytes() }
}

fn advise_huge_pages<T>(array: &[T]) {
    let bytes = size_of_val(array);
    if cfg!(target_os = "linux") && bytes >= HUGE {
        // madvise requires whole pages; the ends outside are left as they are.
        const PAGE: usize = 4096;
        let start = array.as_ptr().addr().next_multiple_of(PAGE);
        let end = (array.as_ptr().addr() + bytes) / PAGE * PAGE;
        #[cfg(target_os = "linux")]
        // SAFETY: [start, end) lies inside a live allocation; MADV_HUGEPAGE changes no content and no mapping. A
        // failure (old kernel, feature off) costs speed only and is ignored.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
        let _ = (start, end);
    }
}

/// Returns the bytes that this process can still allocate: the smallest of what the machine, its control groups and its
/// resource limits leave (Linux; elsewhere `u64::MAX`).
pub fn available_bytes() -> u64 {
    FreeMemory::now().share(1)
}

/// Returns the largest resident size of this process so far, in bytes (Linux; elsewhere 0).
pub fn peak_bytes() -> u64 {
    limits::kib(Path::new("/proc/self/status"), "VmHWM:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_arrays_are_zero_and_counted_in_the_peak() {
        for mut array in [zeroed::<u64>(HUGE), try_zeroed::<u64>("x", HUGE).unwrap()] {
            assert!(array.len() == HUGE && array.iter().all(|&x| x == 0));
            array.iter_mut().enumerate().for_each(|(i, x)| *x = i as u64);
            assert_eq!(array[HUGE - 1], HUGE as u64 - 1);
        }
        if cfg!(target_os = "linux") {
            assert!(peak_bytes() >= 8 * HUGE as u64);
        }
        assert_eq!((try_zeroed::<[f64; 3]>("x", 0).unwrap().len(), try_copy("x", &[3u8, 4]).unwrap()), (0, vec![3, 4]));
    }

    #[test]
    fn more_than_the_machine_has_is_an_error_not_an_abort() {
        fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            error.to_string()
        }
        for len in [usize::MAX, usize::MAX / 16, 1 << 55] {
            let text = refused(try_zeroed::<f64>("values", len));
            assert!(text.contains("array `values` needs") && text.contains("free"), "{text}");
            let mut list = vec![1.0];
            refused(try_reserve("list", &mut list, len));
            assert_eq!(list, [1.0]);
            refused(try_collect("ids", 0..len));
        }
    }

    #[test]
    fn lists_grow_and_keep_their_items() {
        let mut list = Vec::new();
        (0..1000).for_each(|i| try_push("list", &mut list, i).unwrap());
        assert_eq!(list, try_collect("ids", 0..1000usize).unwrap());
    }
}
