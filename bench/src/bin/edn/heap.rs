//! What the allocator keeps.

/// Puts together what was freed in pieces, and gives it back to the system.
pub(crate) fn trim() {
    // SAFETY: it takes a number, and what is in use stays where it is.
    unsafe { libc::malloc_trim(0) };
}
