//! The messages of a call to its client: notifications, and requests of its handler.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::sleep_until;
use trunkline::Id;
use trunkline::limits::{MemoryBudget, OutOfMemory, Reservation};
use trunkline::protocol::Reply;

use crate::call_progress::CallProgress;
use crate::lock::Lock;
use crate::model::{Message as RpcMessage, ProgressUpdate};
use crate::protocol::method;

/// The queue of one call's messages to its client.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    pending: Lock<Pending>,
    filled: Notify,
    taken: Notify,
    /// Whether the reply follows the pending messages, so that further ones are dropped.
    is_ended: AtomicBool,
    /// The progress of the call, if its client has requested it.
    progress: Option<CallProgress>,
}

#[derive(Debug, Default)]
struct Pending {
    entries: VecDeque<Queued>,
    /// The size of the messages.
    bytes: usize,
}

/// A message to a client.
#[derive(Debug)]
pub(crate) struct Message {
    /// A JSON text.
    pub(crate) json: Vec<u8>,
    /// Its reservation in the memory budget. None for small messages.
    pub(crate) memory: Option<Reservation>,
}

/// An entry of a queue.
#[derive(Debug)]
pub(crate) enum Queued {
    Message(Message),
    /// The end of the current stream. The client reconnects after this time.
    Close(Duration),
}

/// The queue has no space: the client does not read.
#[derive(Debug)]
pub(crate) struct Full;

/// The maximum number of pending messages. While a client does not read them, new notifications are dropped, and
/// requests fail.
const MAX_PENDING: usize = 256;
/// The maximum size of pending messages in bytes. One message may be larger.
const MAX_PENDING_BYTES: usize = 1 << 20;

impl MessageQueue {
    pub(crate) fn new(progress: Option<CallProgress>) -> Self {
        Self { progress, ..Self::default() }
    }

    /// Whether the client has requested the progress of the call.
    pub(crate) fn has_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Queues a notification of progress, if the client has requested it.
    pub(crate) fn report(&self, update: ProgressUpdate) {
        if let Some(state) = &self.progress {
            state.report(update, |params| self.notify(method::PROGRESS, params));
        }
    }

    /// Queues a notification. One whose params do not serialize is dropped.
    pub(crate) fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) {
        if self.add(None, method, params).is_err() {
            tracing::debug!("a notification is dropped: its client does not read");
        }
    }

    /// Queues a request.
    pub(crate) fn request(
        &self,
        id: u64,
        method: &str,
        params: &impl Serialize,
    ) -> Result<(), Full> {
        self.add(Some(id), method, params)
    }

    /// Drops further messages.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// Ends the current stream after the queued messages.
    pub(crate) fn close(&self, retry: Duration) {
        // Without space, the stream remains open.
        drop(self.push(Queued::Close(retry)));
    }

    /// Queues a message, and waits for space.
    ///
    /// # Cancel safety
    /// A message that is not queued when the future is dropped is lost.
    pub(crate) async fn send(&self, message: Message) {
        let mut message = Queued::Message(message);
        while let Err(returned) = self.try_push(message) {
            message = returned;
            self.taken.notified().await;
        }
    }

    /// Whether no message is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.lock().entries.is_empty()
    }

    /// The next pending entry.
    pub(crate) fn take(&self) -> Option<Queued> {
        let next = self.pending.lock().pop();
        self.taken.notify_one();
        next
    }

    /// The next pending message, for channels, which are not closed before their end.
    pub(crate) fn take_message(&self) -> Option<Message> {
        loop {
            if let Queued::Message(message) = self.take()? {
                return Some(message);
            }
        }
    }

    /// Waits until an entry is pending. While the call is silent, its progress is repeated.
    pub(crate) async fn filled(&self) {
        while self.is_empty() {
            let silent = self.progress.as_ref().and_then(|state| Some((state, state.repeat_at()?)));
            let Some((state, repeat_at)) = silent else {
                self.filled.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.filled.notified() => {}
                () = sleep_until(repeat_at) => {
                    state.repeat(|params| self.notify(method::PROGRESS, params));
                }
            }
        }
    }

    fn add(
        &self,
        id: Option<u64>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), Full> {
        if self.is_ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        match RpcMessage::new(id, method, Some(params)).text() {
            Ok(json) => self.push(Queued::Message(json.into())),
            Err(error) => {
                tracing::error!(%error, method, "a message to a client does not serialize");
                Ok(())
            }
        }
    }

    fn push(&self, entry: Queued) -> Result<(), Full> {
        self.try_push(entry).map_err(|_| Full)
    }

    fn try_push(&self, entry: Queued) -> Result<(), Queued> {
        let mut pending = self.pending.lock();
        if !pending.has_space(&entry) {
            return Err(entry);
        }
        pending.bytes += entry.size();
        pending.entries.push_back(entry);
        self.filled.notify_one();
        Ok(())
    }
}

impl Pending {
    fn has_space(&self, entry: &Queued) -> bool {
        let is_small = self.bytes.saturating_add(entry.size()) <= MAX_PENDING_BYTES;
        self.entries.is_empty() || (self.entries.len() < MAX_PENDING && is_small)
    }

    fn pop(&mut self) -> Option<Queued> {
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.size();
        Some(entry)
    }
}

impl From<Vec<u8>> for Message {
    fn from(json: Vec<u8>) -> Self {
        Self { json, memory: None }
    }
}

impl Message {
    /// A message that counts in the memory budget.
    pub(crate) fn reserved(memory: &MemoryBudget, json: Vec<u8>) -> Result<Self, OutOfMemory> {
        let memory = memory.reserve(json.len())?;
        Ok(Self { json, memory: Some(memory) })
    }

    /// A reply that counts in the memory budget, or an error if it exceeds the budget. None for a notification.
    pub(crate) fn of_reply(memory: &MemoryBudget, reply: Reply, id: Option<&Id>) -> Option<Self> {
        match Self::reserved(memory, reply.into_json()?) {
            Ok(message) => Some(message),
            Err(error) => Reply::error(error.reply_dropped(), id).into_json().map(Self::from),
        }
    }
}

impl Queued {
    /// The size of a message in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Message(message) => message.json.len(),
            Self::Close(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PENDING, MAX_PENDING_BYTES, MessageQueue};

    /// Sends messages with texts of this size to a client that does not read.
    #[track_caller]
    fn check(size: usize, count: usize, expected: usize) {
        let queue = MessageQueue::default();
        for _ in 0..count {
            queue.notify("m", &"x".repeat(size));
        }
        let mut pending = 0;
        while queue.take_message().is_some() {
            pending += 1;
        }
        assert_eq!(pending, expected, "{size}");
        // The space is free again.
        queue.notify("m", "x");
        assert!(queue.take_message().is_some());
    }

    #[test]
    fn messages_that_a_client_does_not_read_are_limited() {
        check(1, 1_000, MAX_PENDING);
        check(MAX_PENDING_BYTES / 4, 1_000, 3);
        check(MAX_PENDING_BYTES * 2, 3, 1);
    }
}
