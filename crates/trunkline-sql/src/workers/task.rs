use tokio::sync::oneshot;

use super::seats::Seat;
use crate::error::Error;
use crate::session::Session;

/// A piece of work whose result type the worker does not know.
pub(super) trait Task: Send {
    /// Runs it, in place of an earlier run.
    fn run(&mut self, session: &mut Session<'_>);
    /// How it ended, in place of a run.
    fn fail(&mut self, error: Error);
    /// Why the last run failed, if it did.
    fn error(&self) -> Option<&Error>;
    /// Sends what the last run gave to the caller, with the worker.
    fn answer(self: Box<Self>, seat: Seat);
}

/// The outcome of some work. The caller frees the worker when it takes it, so that results do not pile up
/// when workers are faster than their callers.
pub(super) type Answer<T> = (Result<T, Error>, Seat);

pub(super) struct Work<T, F> {
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Answer<T>>,
}

impl<T, F> Work<T, F> {
    pub(super) fn new(work: F, reply: oneshot::Sender<Answer<T>>) -> Self {
        Self { work, outcome: None, reply }
    }
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send,
{
    fn run(&mut self, session: &mut Session<'_>) {
        self.outcome = Some((self.work)(session));
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn error(&self) -> Option<&Error> {
        match &self.outcome {
            Some(Err(error)) => Some(error),
            _ => None,
        }
    }

    fn answer(self: Box<Self>, seat: Seat) {
        if let Some(outcome) = self.outcome {
            // A caller that is gone has had its answer: timeout or cancellation.
            drop(self.reply.send((outcome, seat)));
        }
    }
}
