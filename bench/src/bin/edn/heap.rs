//! The free memory of the allocator.

/// Returns free memory to the system.
pub(crate) fn trim() {
    // SAFETY: the argument is a number, and memory in use is not affected.
    unsafe { libc::malloc_trim(0) };
}
