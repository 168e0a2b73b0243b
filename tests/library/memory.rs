//! The allocator of this test: it notes the largest request of each thread, so that a test sees sizes that a reader takes from a
//! header before the data are there, and counts the requests of threads that ask for it. Requests that would burden the machine
//! fail, which ends the process with their size.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Noted;

/// Requests of all counted threads.
static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Bytes of a request that fails.
const REFUSED: usize = 1 << 30;

/// Notes a request and returns whether it is granted.
fn note(bytes: usize) -> bool {
    // A thread that ends has no cell any more.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
    if IS_COUNTED.try_with(Cell::get) == Ok(true) {
        COUNT.fetch_add(1, Relaxed);
    }
    bytes < REFUSED
}

// SAFETY: every call goes to the system's allocator with the arguments of the caller; a cell without destructor allocates
// nothing.
unsafe impl GlobalAlloc for Noted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        if note(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        if note(layout.size()) { unsafe { System.alloc_zeroed(layout) } } else { std::ptr::null_mut() }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        if note(bytes) { unsafe { System.realloc(pointer, layout, bytes) } } else { std::ptr::null_mut() }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static NOTED: Noted = Noted;

/// Forgets this thread's requests.
pub fn reset() {
    LARGEST.set(0);
}

/// Returns this thread's largest request since [`reset`], in bytes.
pub fn largest() -> usize {
    LARGEST.get()
}

/// Counts the requests of this thread from now on.
pub fn count_thread() {
    IS_COUNTED.set(true);
}

/// Returns the number of requests of all counted threads during `work`.
pub fn requests(work: impl FnOnce()) -> usize {
    let before = COUNT.load(Relaxed);
    work();
    COUNT.load(Relaxed) - before
}
