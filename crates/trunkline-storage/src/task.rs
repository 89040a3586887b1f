use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout_at;

use crate::claim::Claim;
use crate::connection::Connection;
use crate::error::{StoreError, WorkError};

/// Type-erased work. If it is dropped without an answer, it panicked.
pub(crate) trait Task: Send {
    fn claim(&self) -> &Arc<Claim>;
    /// Runs the work, and returns whether it succeeded. If it ran before, it runs again, unless it panicked: its state is
    /// unknown then, and the panic would probably be repeated.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Sets an error as the outcome.
    fn fail(&mut self, error: StoreError);
    /// The fault of the storage in the last run, if any.
    fn fault(&self) -> Option<&StoreError>;
    /// Sends the outcome to the caller.
    fn answer(self: Box<Self>);
}

/// Creates a task, and the handle of its caller. `done` is called before the caller receives the value of the work.
pub(crate) fn task<T: Send + 'static, E: WorkError>(
    claim: Arc<Claim>,
    work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    done: impl FnOnce(&T) + Send + 'static,
) -> (Box<dyn Task>, Pending<T, E>) {
    let (reply, answer) = oneshot::channel();
    let task = Work { claim: Arc::clone(&claim), work, done, outcome: None, reply };
    (Box::new(task), Pending { claim, answer })
}

struct Work<T, E, F, D> {
    claim: Arc<Claim>,
    work: F,
    done: D,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F, D> Task for Work<T, E, F, D>
where
    T: Send,
    E: WorkError,
    F: FnMut(&Connection) -> Result<T, E> + Send,
    D: FnOnce(&T) + Send,
{
    fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(StoreError::Panicked) = self.fault() {
            return false;
        }
        // After a panic, the savepoint or the transaction is rolled back.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)));
        let outcome = outcome.unwrap_or_else(|panic| Err(StoreError::of_panic(&*panic).into()));
        let outcome =
            outcome.and_then(|value| connection.failure().map_or(Ok(value), |e| Err(e.into())));
        self.outcome.insert(outcome).is_ok()
    }

    fn fail(&mut self, error: StoreError) {
        self.outcome = Some(Err(error.into()));
    }

    fn fault(&self) -> Option<&StoreError> {
        let error = self.outcome.as_ref()?.as_ref().err()?;
        error.store_error().filter(|error| error.is_fault())
    }

    fn answer(self: Box<Self>) {
        let Self { work, done, outcome, reply, .. } = *self;
        // Frees its memory before the caller continues.
        drop(work);
        if let Some(Ok(value)) = &outcome {
            done(value);
        }
        if let Some(outcome) = outcome {
            // The caller may have abandoned the task.
            drop(reply.send(outcome));
        }
    }
}

/// The caller's handle of a task. Dropping it abandons the task.
pub(crate) struct Pending<T, E> {
    claim: Arc<Claim>,
    answer: oneshot::Receiver<Result<T, E>>,
}

impl<T, E: WorkError> Pending<T, E> {
    /// Waits for the outcome. The error of the outer result is the reason why the wait ended.
    pub(crate) async fn in_time(
        &mut self,
        cancel: impl Future<Output = ()>,
    ) -> Result<Result<T, E>, StoreError> {
        let answer = self.claim.in_time(cancel, &mut self.answer).await?;
        Ok(answer.unwrap_or_else(|_| Err(StoreError::Panicked.into())))
    }

    /// Waits like [`in_time`](Self::in_time), and for a further `wait` if the task was started.
    pub(crate) async fn confirm(
        &mut self,
        cancel: impl Future<Output = ()>,
        wait: Duration,
    ) -> Result<Result<T, E>, StoreError> {
        match self.in_time(cancel).await {
            Err(reason) if self.claim.abandon() => Err(reason),
            Err(_) => match timeout_at(self.claim.deadline + wait, &mut self.answer).await {
                Ok(answer) => Ok(answer.unwrap_or_else(|_| Err(StoreError::Panicked.into()))),
                Err(_) => Err(StoreError::Unconfirmed),
            },
            outcome => outcome,
        }
    }
}

impl<T, E> Drop for Pending<T, E> {
    fn drop(&mut self) {
        self.claim.abandon();
    }
}
