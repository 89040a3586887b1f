use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use trunkline::Id;
use trunkline::limits::{MemoryBudget, Reservation};
use trunkline::protocol::Reply;

const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The messages to the client of a channel.
pub(crate) struct Outbox {
    pub(super) messages: mpsc::Receiver<Message>,
    /// Whether there are other tools since it was asked last.
    pub(super) changed: Arc<Notify>,
}

/// A message to a client.
pub(crate) struct Message {
    /// A JSON text without newlines; empty at the end of a channel.
    pub(crate) json: Vec<u8>,
    /// Its reservation in the memory budget. Notifications are small and have none.
    pub(crate) memory: Option<Reservation>,
}

impl From<Vec<u8>> for Message {
    /// JSON has newlines between its tokens only, where any space will do.
    fn from(mut json: Vec<u8>) -> Self {
        json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        Self { json, memory: None }
    }
}

impl Message {
    /// A reply that counts in the memory budget, or the error in its place; none to a notification.
    pub(crate) fn reserved(memory: &MemoryBudget, reply: Reply, id: Option<&Id>) -> Option<Self> {
        let message = Self::from(reply.into_json()?);
        match memory.reserve(message.json.len()) {
            Ok(memory) => Some(Self { memory: Some(memory), ..message }),
            Err(error) => Reply::error(error.reply_dropped(), id).into_json().map(Self::from),
        }
    }
}

impl Outbox {
    /// The next message; none when the channel is gone.
    ///
    /// # Cancel safety
    /// No message is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            // Waits behind nothing: a client that reads slowly need not work with a list of the past.
            () = self.changed.notified() => Some(LIST_CHANGED.to_vec().into()),
            message = self.messages.recv() => message,
        }
    }
}
