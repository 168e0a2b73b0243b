//! A hint to the memory system, as a safe function.

#![allow(unsafe_code)]

/// Asks for the cache line of `array[index]` ahead of its use; any index is allowed. Nothing where the target has no
/// such instruction.
#[inline(always)]
pub fn prefetch<T>(array: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: PREFETCHT0 never faults and reads nothing into registers, so any address will do.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}
