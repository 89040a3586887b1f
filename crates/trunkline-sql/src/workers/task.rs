use tokio::sync::oneshot;

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
    /// Sends what the last run gave to whoever waits.
    fn answer(self: Box<Self>);
}

pub(super) struct Work<T, F> {
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> Work<T, F> {
    pub(super) fn new(work: F, reply: oneshot::Sender<Result<T, Error>>) -> Self {
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

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // A caller that is gone has had its answer: timeout or cancellation.
            drop(self.reply.send(outcome));
        }
    }
}
