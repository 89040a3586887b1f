//! The calls of a batch, which pass their layers one by one and leave together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;
use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

use super::error::{Failure, TransportError};

/// The calls of one batch that have passed their layers and wait for the next message.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    members: Mutex<Vec<Member>>,
    /// The batch, which wakes up for each call.
    pub(super) batch: AtomicWaker,
}

/// A call that waits for its outcome.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) call: Call,
    outcome: oneshot::Sender<Result<Outcome, Failure>>,
    seat: Seat,
}

/// Marks a call as a member of a batch. It travels with the call: a retry leaves with the batch's next
/// message.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// Weak, since the members have seats.
    gathering: Weak<Gathering>,
    /// Whether the call waits or is in a message.
    is_taken: Arc<AtomicBool>,
}

impl Gathering {
    pub(super) fn seat(self: &Arc<Self>) -> Seat {
        Seat { gathering: Arc::downgrade(self), is_taken: Arc::default() }
    }

    /// The number of calls that wait.
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

impl Seat {
    /// Takes the seat, unless another attempt at the same call has it.
    pub(super) fn claim(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Relaxed)
    }

    /// Joins the next message with a seat that was [claimed](Self::claim), and waits for the outcome.
    pub(super) async fn take(&self, call: Call) -> Result<Outcome, Failure> {
        let (outcome, ended) = oneshot::channel();
        if let Some(gathering) = self.gathering.upgrade() {
            gathering.members().push(Member { call, outcome, seat: self.clone() });
            gathering.batch.wake();
        }
        ended.await.unwrap_or_else(|_| {
            // The batch was dropped, and its replies with it.
            Err(TransportError::Broken { target: "the batch".to_owned(), source: None }.into())
        })
    }
}

impl Member {
    /// Frees the seat, and passes the outcome to the call's layers.
    pub(super) fn end(self, ended: Result<Outcome, Failure>) {
        self.seat.is_taken.store(false, Ordering::Relaxed);
        // A layer may have dropped the call.
        drop(self.outcome.send(ended));
    }
}
