//! The queue of a batch: calls pass their layers one by one and are sent together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;
use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

use super::error::{Failure, TransportError};

/// The calls of one batch that have passed their layers and wait for the next message.
#[derive(Debug, Default)]
pub(super) struct BatchQueue {
    members: Mutex<Vec<Member>>,
    /// The waker of the batch, called for each queued call.
    pub(super) batch: AtomicWaker,
}

/// A call that waits for its outcome.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) call: Call,
    outcome: oneshot::Sender<Result<Outcome, Failure>>,
    handle: QueueHandle,
}

/// Marks a call as a member of a batch. It is an extension of the call, so that a retry is sent with the
/// next message of the batch.
#[derive(Debug, Clone)]
pub(super) struct QueueHandle {
    /// Weak, since the members have handles.
    queue: Weak<BatchQueue>,
    /// Whether the call is queued or in a message.
    is_claimed: Arc<AtomicBool>,
}

impl BatchQueue {
    pub(super) fn handle(self: &Arc<Self>) -> QueueHandle {
        QueueHandle { queue: Arc::downgrade(self), is_claimed: Arc::default() }
    }

    /// The number of queued calls.
    pub(super) fn len(&self) -> usize {
        self.members().len()
    }

    /// Takes the calls of the next message.
    pub(super) fn take(&self) -> Vec<Member> {
        std::mem::take(&mut self.members())
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueHandle {
    /// Claims the handle, unless another attempt of the same call holds it.
    pub(super) fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::Relaxed)
    }

    /// Queues the call for the next message and waits for the outcome. Requires a
    /// [claimed](Self::claim) handle.
    pub(super) async fn enqueue(&self, call: Call) -> Result<Outcome, Failure> {
        let (outcome, result) = oneshot::channel();
        if let Some(queue) = self.queue.upgrade() {
            queue.members().push(Member { call, outcome, handle: self.clone() });
            queue.batch.wake();
        }
        result.await.unwrap_or_else(|_| {
            // The batch and its replies were dropped.
            Err(TransportError::Broken { target: "the batch".to_owned(), source: None }.into())
        })
    }
}

impl Member {
    /// Releases the handle and passes the outcome to the layers of the call.
    pub(super) fn complete(self, outcome: Result<Outcome, Failure>) {
        self.handle.is_claimed.store(false, Ordering::Relaxed);
        // A layer may have dropped the call.
        drop(self.outcome.send(outcome));
    }
}
