//! The members of a batch, which pass the layers one by one and leave in one message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;
use tokio::time::timeout;
use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

use super::error::{Failure, TransportError};

/// How long the members that have come wait for the next one.
const LATE: Duration = Duration::from_millis(20);

/// Where the members of one batch meet, below the layers.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    state: Mutex<State>,
    /// Told whenever a member has come or ended. The batch alone listens.
    moved: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Members on their way: neither here, nor in a message, nor at their end.
    expected: usize,
    come: Vec<Member>,
    /// How many the layers let through at a time, once more were waited for in vain.
    let_through: Option<usize>,
}

/// A call that has come through its layers and waits for its outcome.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) call: Call,
    outcome: oneshot::Sender<Result<Outcome, Failure>>,
    seat: Seat,
}

/// The place of one call in a gathering, which travels with the call. A layer may answer in the
/// call's place, or drop it: then the others wait for it no longer. A call that is made again takes
/// its seat again, and leaves in a further message together with others that are.
#[derive(Debug, Clone)]
pub(super) struct Seat(Arc<Taking>);

#[derive(Debug)]
struct Taking {
    /// Gone with the batch: members do not keep it, which keeps them.
    gathering: Weak<Gathering>,
    /// Whether the call is here, or in a message.
    is_taken: AtomicBool,
}

impl Gathering {
    pub(super) fn seat(self: &Arc<Self>) -> Seat {
        self.state().expected += 1;
        Seat(Arc::new(Taking { gathering: Arc::downgrade(self), is_taken: AtomicBool::new(false) }))
    }

    /// The calls that have come, when no other is expected, or keeps them waiting for long: a layer
    /// may let one call through only when another has ended. That is waited for once; when as many
    /// have come again, there are no more. None at the end.
    pub(super) async fn next(&self) -> Option<Vec<Member>> {
        loop {
            let (waiting, expected, let_through) = {
                let state = self.state();
                (state.come.len(), state.expected, state.let_through)
            };
            match (waiting, expected) {
                (0, 0) => return None,
                (_, 0) => break,
                (0, _) => self.moved.notified().await,
                _ if let_through.is_some_and(|number| waiting >= number) => {
                    yield_now().await;
                    if self.state().come.len() == waiting {
                        break;
                    }
                }
                _ => {
                    let moved = timeout(LATE, self.moved.notified()).await;
                    let mut state = self.state();
                    if moved.is_err() && state.come.len() == waiting {
                        state.let_through = Some(waiting);
                        break;
                    }
                }
            }
        }
        Some(std::mem::take(&mut self.state().come))
    }

    fn settle(&self, member: Option<Member>) {
        let mut state = self.state();
        state.expected -= 1;
        state.come.extend(member);
        self.moved.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Takes the seat, unless another attempt at the same call has it.
    pub(super) fn claim(&self) -> bool {
        !self.0.is_taken.swap(true, Ordering::Relaxed)
    }

    /// Joins the message with a seat that was [claimed](Self::claim), and waits for this call's part
    /// of what comes of it.
    pub(super) async fn take(&self, call: Call) -> Result<Outcome, Failure> {
        let (outcome, later) = oneshot::channel();
        if let Some(gathering) = self.0.gathering.upgrade() {
            gathering.settle(Some(Member { call, outcome, seat: self.clone() }));
        }
        match later.await {
            Ok(outcome) => outcome,
            // The batch was dropped, and with it whoever would see this.
            Err(_) => {
                Err(TransportError::Broken { target: "the batch".to_owned(), source: None }.into())
            }
        }
    }
}

impl Member {
    /// Tells the call what has come of it, and sends it on its way.
    pub(super) fn end(self, ended: Result<Outcome, Failure>) {
        let taking = &self.seat.0;
        if let Some(gathering) = taking.gathering.upgrade() {
            gathering.state().expected += 1;
            taking.is_taken.store(false, Ordering::Relaxed);
        }
        // A member that is gone wants no outcome.
        drop(self.outcome.send(ended));
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if let (false, Some(gathering)) = (*self.is_taken.get_mut(), self.gathering.upgrade()) {
            gathering.settle(None);
        }
    }
}
