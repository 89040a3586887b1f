//! Reading of the params of calls by layers.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;

/// Longer params, in bytes, are read on a thread for blocking work. This length takes less than a millisecond.
const MAX_INLINE: usize = 64 << 10;

/// Half of the processors. The others serve other calls.
static THREADS: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new((processors / 2).max(1))
});

/// Whether the params of a call are read on another thread.
pub(super) fn are_long(call: &Call) -> bool {
    call.params().is_some_and(|params| params.len() > MAX_INLINE)
}

/// Calls `read`, for work whose time grows with the params, such as [`Call::effect`] and
/// [`canonical`](crate::protocol::canonical). For a call with long params, it runs on a thread for blocking work,
/// within the runtime that polls the future. Returns the call and the result.
///
/// # Errors
/// -32603 if the runtime shuts down.
pub async fn read_params<T, F>(call: Call, read: F) -> Result<(Call, T), ErrorObject>
where
    T: Send + 'static,
    F: FnOnce(&Call) -> T + Send + 'static,
{
    if !are_long(&call) {
        let value = read(&call);
        return Ok((call, value));
    }
    let permit = THREADS.acquire().await;
    let job = move || {
        let _permit = permit;
        let value = read(&call);
        (call, value)
    };
    // A call that is cancelled before the job begins needs no result.
    let ended = AbortOnDropHandle::new(spawn_blocking(job)).await;
    ended.map_err(JoinError::try_into_panic).or_else(|error| match error {
        Ok(panic) => resume_unwind(panic),
        Err(_) => Err(ErrorObject::internal(&"the runtime has shut down")),
    })
}
