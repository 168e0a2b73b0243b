//! Software prefetch as a safe function.

#![allow(unsafe_code)]

/// Distance in numbers at which sums of gathered rows prefetch, about one memory latency: the hardware prefetcher cannot follow such reads.
pub(crate) const PREFETCH_DISTANCE: usize = 256;

/// Prefetches the cache line of `array[index]` into the first-level cache. Any index is allowed. Does nothing on targets without
/// such an instruction.
#[inline(always)]
pub fn prefetch<T>(array: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: PREFETCHT0 never faults and loads no register, so any address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}

/// Prefetches the cache line of `array[index]` as [`prefetch`], into the second-level cache, which can wait for more lines at once.
#[inline(always)]
pub fn prefetch_l2<T>(array: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: PREFETCHT1 never faults and loads no register, so any address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(array.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}
