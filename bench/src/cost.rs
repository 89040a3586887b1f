//! The cost of a call for its thread: time and allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::clock::thread_cpu_time;

/// The system's allocator with a counter per thread. Programs that read the counter use it as their global allocator; the
/// HTTP contenders do not.
pub struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every method passes its arguments to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The cost of one call.
#[derive(Clone, Copy)]
pub struct Cost {
    pub nanos: f64,
    pub allocations: f64,
}

impl Cost {
    /// The mean over this number of sequential calls.
    pub async fn of(calls: u32, call: impl AsyncFn()) -> Self {
        let allocated = ALLOCATIONS.get();
        let start = thread_cpu_time();
        for _ in 0..calls {
            call().await;
        }
        let nanos = (thread_cpu_time() - start).as_nanos() as f64;
        let allocations = (ALLOCATIONS.get() - allocated) as f64;
        Self { nanos: nanos / f64::from(calls), allocations: allocations / f64::from(calls) }
    }
}
