use std::sync::Arc;

use tokio::sync::{Notify, mpsc};

const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// What is to be written to the client of a channel: one JSON text a message, without newlines.
pub(crate) struct Outbox {
    pub(super) messages: mpsc::Receiver<Vec<u8>>,
    /// Whether there are other tools since it was asked last.
    pub(super) changed: Arc<Notify>,
}

impl Outbox {
    /// The next message; none when the channel is gone.
    ///
    /// # Cancel safety
    /// No message is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        tokio::select! {
            biased;
            // Waits behind nothing: a client that reads slowly need not work with a list of the past.
            () = self.changed.notified() => Some(LIST_CHANGED.to_vec()),
            message = self.messages.recv() => message,
        }
    }
}
