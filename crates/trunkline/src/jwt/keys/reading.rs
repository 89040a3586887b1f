//! A reading of keys that goes on, for all who wait for it.

use tokio::sync::watch;

use super::source::KeysError;

#[derive(Debug, Clone)]
pub(in crate::jwt) struct Reading(watch::Receiver<Option<Result<(), KeysError>>>);

impl Reading {
    /// Reads in a task of its own: it serves all who wait, and goes on when they leave. It ends in
    /// time by itself.
    pub(super) fn start(
        read: impl Future<Output = Result<(), KeysError>> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move { sender.send_replace(Some(read.await)) });
        Self(receiver)
    }

    pub(super) fn goes_on(&self) -> bool {
        // The sender goes without a word if the runtime ends.
        self.0.borrow().is_none() && self.0.has_changed().is_ok()
    }

    /// What has come of it, when it has ended.
    pub(in crate::jwt) async fn ended(mut self) -> Result<(), KeysError> {
        let result = self.0.wait_for(Option::is_some).await;
        result.ok().and_then(|result| result.clone()).unwrap_or(Err(KeysError::Interrupted))
    }
}
