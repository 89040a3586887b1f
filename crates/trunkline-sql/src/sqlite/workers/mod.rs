//! The threads that read and the one that writes, and how a future gets one.
//!
//! SQLite blocks, so each connection has a dedicated thread and never meets the async runtime. A
//! semaphore counts the free workers; a permit guarantees one in the idle stack. The worker is
//! free again when SQLite has truly let go, which may be later than the caller's answer: one long opcode
//! cannot be interrupted, nor can its thread be ended. A reader that is stuck in one has the lowest
//! priority and is replaced with the next call, up to a bound; beyond it, calls that find no free one are answered `Busy`. The
//! writer is not replaced, since a stuck one holds the lock that another one would need.
//!
//! A call on the writer is one transaction (`transaction`): it is committed if the work succeeds in time,
//! and rolled back otherwise. Once the commit has begun, neither the deadline nor the caller can stop it; a
//! caller gets `Timeout` or `Cancelled` only if nothing was changed.

mod cancellation;
mod pool;
mod slots;
mod transaction;
mod worker;

use std::sync::{Mutex, PoisonError};

pub(crate) use pool::Pool;

/// Nothing panics while it holds one of this module's locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
