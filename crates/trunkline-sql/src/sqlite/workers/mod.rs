//! The threads of readers and of the writer, and their assignment to calls.
//!
//! SQLite blocks, so each connection has a dedicated thread outside of the async runtime. A semaphore counts the free
//! workers; a permit guarantees one in the idle stack. A worker becomes free when SQLite has returned, which may be
//! later than the answer to the caller: one long opcode cannot be interrupted, nor can its thread be ended. A stuck
//! reader gets the lowest priority and is replaced at the next call, up to a limit; beyond it, calls without a free
//! reader fail with `Busy`. A stuck writer is not replaced, since it holds the write lock.
//!
//! A call on the writer is one transaction (`transaction`): it is committed if the work succeeds in time,
//! and rolled back otherwise. Once the commit has begun, neither the deadline nor the caller can stop it.
//! `Timeout` and `Cancelled` mean that nothing was changed.

mod cancellation;
mod pool;
mod slots;
mod transaction;
mod worker;

use std::sync::{Mutex, PoisonError};

pub(crate) use pool::Pool;
pub(crate) use worker::WaitGroup;

/// Locks a mutex. No code panics while it holds a lock of this module.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
