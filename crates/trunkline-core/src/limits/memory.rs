//! The memory budget of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::json;

use crate::error::{ErrorObject, code};

/// The maximum number of bytes that a server holds for its clients at one time.
///
/// It includes request bodies, from their first byte until their calls have ended, and replies, from the first
/// response of a batch until the last byte is written. Each request adds [4 KiB](Self::PER_REQUEST) to the size
/// of its body, and over HTTP another 16 KiB while the body is incomplete. Clones share one budget; pass the same
/// budget to all services of a process.
///
/// A request that exceeds the budget is not run. It fails with -32005, and over HTTP with 503 and `Retry-After`.
/// When the replies of a batch exhaust the budget, its remaining calls are not run and fail with -32005. A reply
/// that exceeds the budget after its call has run is replaced by -32006.
///
/// ```
/// use trunkline::limits::MemoryBudget;
/// use trunkline::{Limits, Router};
///
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let memory = MemoryBudget::new(64 << 20);
/// let rpc = Router::new().limits(Limits { memory: memory.clone(), ..Limits::default() }).build()?;
/// assert_eq!((memory.used(), memory.limit()), (0, 64 << 20));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<Usage>);

#[derive(Debug)]
struct Usage {
    limit: usize,
    used: AtomicUsize,
}

/// Bytes of a [`MemoryBudget`], released on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: usize,
}

/// A [`MemoryBudget`] is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the memory budget of {limit} bytes is exhausted; try again later")]
pub struct OutOfMemory {
    /// The size of the budget in bytes.
    pub limit: usize,
}

impl MemoryBudget {
    /// The bytes that each request adds to the size of its body, for headers, tasks and futures.
    pub const PER_REQUEST: usize = 4 << 10;

    /// A budget of this many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Usage { limit, used: AtomicUsize::new(0) }))
    }

    /// The size of the budget in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// The number of reserved bytes.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Reserves bytes.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, OutOfMemory> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow(bytes)?;
        Ok(reservation)
    }
}

impl Default for MemoryBudget {
    /// 256 MiB.
    fn default() -> Self {
        Self::new(256 << 20)
    }
}

impl Reservation {
    /// The number of reserved bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves more bytes.
    ///
    /// # Errors
    /// When fewer bytes are left. The reservation is unchanged.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let Usage { limit, used } = &*self.budget.0;
        let grown = |used: usize| used.checked_add(bytes).filter(|sum| sum <= limit);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map_err(|_| OutOfMemory { limit: *limit })?;
        self.bytes += bytes;
        Ok(())
    }

    /// Changes the reservation to this many bytes.
    ///
    /// # Errors
    /// When fewer bytes are left. The reservation is unchanged.
    pub fn resize(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            return self.grow(more);
        }
        self.shrink(bytes);
        Ok(())
    }

    /// Releases all but this many bytes.
    pub fn shrink(&mut self, bytes: usize) {
        let released = self.bytes.saturating_sub(bytes);
        self.budget.0.used.fetch_sub(released, Ordering::Relaxed);
        self.bytes -= released;
    }

    /// Keeps the reservation until the last slice of these bytes is dropped.
    #[must_use]
    pub fn attach(self, data: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Reserved { data, _reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Reserved<T> {
    data: T,
    _reservation: Reservation,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Reserved<T> {
    fn as_ref(&self) -> &[u8] {
        self.data.as_ref()
    }
}

/// Converts to -32005. Nothing was run, so a retry is safe.
impl From<OutOfMemory> for ErrorObject {
    fn from(error: OutOfMemory) -> Self {
        let data =
            json!({ "reason": format!("{error}; nothing was run"), "limit_bytes": error.limit });
        Self::new(code::BUSY, "Server is busy").with_data(&data)
    }
}

impl OutOfMemory {
    /// -32006, for a call that has run and whose reply exceeds the budget.
    #[must_use]
    pub fn reply_dropped(self) -> ErrorObject {
        let reason = format!("{self}; the call was run, but its reply was dropped");
        let data = json!({ "reason": reason, "limit_bytes": self.limit });
        ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large").with_data(&data)
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryBudget, OutOfMemory};

    #[test]
    fn reservations_share_a_limit() {
        let budget = MemoryBudget::new(100);
        let full = Err(OutOfMemory { limit: 100 });
        let mut one = budget.reserve(60).unwrap();
        assert_eq!(budget.reserve(41).map(drop), full);
        let two = budget.reserve(40).unwrap();
        assert_eq!((one.grow(1), budget.used()), (full, 100));
        drop(two);
        assert_eq!((one.grow(40), budget.used()), (Ok(()), 100));
        assert_eq!((one.resize(10), one.bytes(), budget.used()), (Ok(()), 10, 10));
        assert_eq!((one.resize(101), budget.used()), (full, 10));
        one.shrink(11);
        assert_eq!((one.grow(usize::MAX), budget.used()), (full, 10));
        let bytes = one.attach(vec![0; 10]);
        let slice = bytes.slice(3..4);
        drop(bytes);
        assert_eq!(budget.used(), 10);
        drop(slice);
        assert_eq!(budget.used(), 0);
    }
}
