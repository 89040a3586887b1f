use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::deadline::{Claim, Deadline};
use crate::error::{Error, StorageError};

/// A command whose result type the threads do not know. Dropped without an answer, its caller learns that
/// the worker was lost.
pub(super) trait Task: Send {
    fn claim(&self) -> &Arc<Claim>;
    /// About how much memory it holds.
    fn bytes(&self) -> usize;
    /// Runs it, in place of an earlier run.
    fn run(&mut self, connection: &Connection);
    /// Sets the outcome, in place of a run.
    fn fail(&mut self, error: Error);
    /// The error of the last run.
    fn error(&self) -> Option<&Error>;
    /// Sends the outcome to the caller.
    fn answer(self: Box<Self>);
}

/// A task, and what its caller keeps of it.
pub(super) fn task<T: Send + 'static>(
    deadline: Deadline,
    bytes: usize,
    work: impl FnMut(&Connection) -> Result<T, Error> + Send + 'static,
) -> (Box<dyn Task>, Pending<T>) {
    let claim = Arc::new(Claim::new(deadline));
    let (reply, answer) = oneshot::channel();
    let task = Work { claim: Arc::clone(&claim), bytes, work, outcome: None, reply };
    (Box::new(task), Pending { claim, deadline, answer })
}

struct Work<T, F> {
    claim: Arc<Claim>,
    bytes: usize,
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Error> + Send,
{
    fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, connection: &Connection) {
        // What a panic leaves half done is rolled back with the savepoint or the transaction around it.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)));
        self.outcome = Some(outcome.unwrap_or(Err(Error::Storage(StorageError::Panicked))));
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn error(&self) -> Option<&Error> {
        self.outcome.as_ref()?.as_ref().err()
    }

    fn answer(self: Box<Self>) {
        let Self { work, outcome, reply, .. } = *self;
        // What it holds is free before its caller comes again.
        drop(work);
        if let Some(outcome) = outcome {
            // A caller that is gone needs no answer.
            drop(reply.send(outcome));
        }
    }
}

/// A task as its caller sees it. Dropped, it is abandoned.
pub(super) struct Pending<T> {
    claim: Arc<Claim>,
    deadline: Deadline,
    answer: oneshot::Receiver<Result<T, Error>>,
}

impl<T> Pending<T> {
    /// The outcome; the error of the outer result is the reason for the end of the wait.
    pub(super) async fn in_time(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<Result<T, Error>, Error> {
        let answer = self.deadline.in_time(cancel, &mut self.answer).await?;
        Ok(answer.unwrap_or_else(lost))
    }

    /// True if the task was not begun, and so never will be.
    pub(super) fn abandon(&self) -> bool {
        self.claim.abandon()
    }

    /// The outcome of a task that was begun, if it comes within `patience` after its time.
    pub(super) async fn confirmed(&mut self, patience: Duration) -> Result<T, Error> {
        match timeout_at(self.deadline.at() + patience, &mut self.answer).await {
            Ok(answer) => answer.unwrap_or_else(lost),
            Err(_) => Err(Error::Unconfirmed),
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.claim.abandon();
    }
}

fn lost<T>(_: oneshot::error::RecvError) -> Result<T, Error> {
    Err(Error::Storage(StorageError::WorkerLost))
}
