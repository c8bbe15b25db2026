//! The system allocator with a counter of the bytes that a thread has in use.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // Without a destructor, so that the allocator may use it at any time.
    static IN_USE: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that this thread has requested and not given back. Other threads, such as that of the test harness, are not counted.
pub(crate) fn in_use() -> usize {
    IN_USE.get()
}

// SAFETY: every call goes to the system allocator unchanged; the counter has no effect on it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.set(IN_USE.get().wrapping_add(layout.size()));
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.set(IN_USE.get().wrapping_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
