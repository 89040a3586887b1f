//! The messages that wait for replies.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::oneshot;
use trunkline_core::error::excerpt;
use trunkline_core::id::Id;

use super::recent_keys::RecentKeys;
use super::recipient::Recipient;
use crate::error::{Failure, ProtocolError};
use crate::frame::Key;
use crate::response::beginning;

/// The number of abandoned calls to remember, so that their late replies are ignored.
const MAX_ABANDONED: usize = 1_024;
/// The number of completed calls to remember, to distinguish a duplicate reply from an unexpected one.
const MAX_COMPLETED: usize = 128;

/// The reply to a message: the body or the failure.
pub(super) type Reply = Result<Bytes, Failure>;

/// The messages that wait for replies.
#[derive(Debug)]
pub(super) struct ReplyTable {
    /// The numbers of the messages by the ids of their calls.
    by_id: HashMap<Key, u64>,
    messages: HashMap<u64, PendingMessage>,
    last: u64,
    /// The number of messages sent.
    sent: u64,
    /// The position of the last sent message that the server has replied to, and thus has read.
    read: u64,
    /// The position of the last sent message without a waiting caller: a notification or an abandoned call. A
    /// reply without an id may concern any such message that the server has not read.
    unawaited: u64,
    abandoned: RecentKeys,
    completed: RecentKeys,
}

#[derive(Debug)]
struct PendingMessage {
    keys: Vec<Key>,
    reply: oneshot::Sender<Reply>,
    /// The position in the order of sending, once the message is sent.
    sent: Option<u64>,
}

impl ReplyTable {
    pub(super) fn new() -> Self {
        Self {
            by_id: HashMap::new(),
            messages: HashMap::new(),
            last: 0,
            sent: 0,
            read: 0,
            unawaited: 0,
            abandoned: RecentKeys::new(MAX_ABANDONED),
            completed: RecentKeys::new(MAX_COMPLETED),
        }
    }

    /// Adds a message with these ids. Returns its number and the receiver of its reply.
    pub(super) fn add(&mut self, ids: &[Id]) -> (u64, oneshot::Receiver<Reply>) {
        self.last += 1;
        let keys: Vec<Key> = ids.iter().map(Key::from).collect();
        for key in &keys {
            self.by_id.insert(key.clone(), self.last);
        }
        let (reply, receiver) = oneshot::channel();
        self.messages.insert(self.last, PendingMessage { keys, reply, sent: None });
        (self.last, receiver)
    }

    /// Marks a message as sent. Returns false if it was abandoned and must not be sent.
    pub(super) fn mark_sent(&mut self, number: u64) -> bool {
        let Some(message) = self.messages.get_mut(&number) else {
            return false;
        };
        self.sent += 1;
        message.sent = Some(self.sent);
        true
    }

    /// Counts a sent message that expects no reply.
    pub(super) fn mark_notification_sent(&mut self) {
        self.sent += 1;
        self.unawaited = self.sent;
    }

    /// Removes a message whose caller no longer waits. Returns the ids of its calls if the message was sent
    /// and has no reply yet.
    pub(super) fn abandon(&mut self, number: u64) -> Option<Vec<Key>> {
        let message = self.remove(number)?;
        self.unawaited = self.unawaited.max(message.sent?);
        message.keys.iter().for_each(|key| self.abandoned.add(key.clone()));
        Some(message.keys)
    }

    /// Delivers a body to its recipient.
    ///
    /// # Errors
    /// When no message waits for the body.
    pub(super) fn deliver(&mut self, to: &Recipient, body: Bytes) -> Result<(), ProtocolError> {
        let keys = match to {
            Recipient::Call(key) => std::slice::from_ref(key),
            Recipient::Batch(keys) => keys,
            Recipient::Unknown | Recipient::Client(_) => &[],
        };
        if keys.is_empty() {
            self.deliver_without_id(body);
            return Ok(());
        }
        if let Some(number) = keys.iter().find_map(|key| key.find_in(&self.by_id).copied()) {
            if let Some(message) = self.remove(number) {
                self.read = self.read.max(message.sent.unwrap_or_default());
                message.keys.iter().for_each(|key| self.completed.add(key.clone()));
                message.complete(Ok(body));
            }
            return Ok(());
        }
        // Removes all ids of an abandoned batch, which `any` would not.
        let mut remove = |key: &Key| {
            [Some(key.clone()), key.in_other_type()]
                .into_iter()
                .flatten()
                .any(|key| self.abandoned.remove(&key))
        };
        let abandoned = keys.iter().filter(|key| remove(key)).count();
        if abandoned > 0 {
            return Ok(());
        }
        let Some(key) = keys.first() else {
            return Ok(());
        };
        if self.completed.contains(key) {
            return Err(ProtocolError::Duplicate { id: key.to_string() });
        }
        let found = excerpt(&key.to_string(), 100).into_owned();
        Err(ProtocolError::WrongId { expected: self.expected(), found })
    }

    /// Delivers the error for a message that the server could not parse, if only one message can be meant.
    /// The proper reply to that message may still arrive.
    fn deliver_without_id(&mut self, body: Bytes) {
        let mut sent = self.messages.iter().filter(|(_, message)| message.sent.is_some());
        let only = match (sent.next(), sent.next()) {
            (Some((number, _)), None) if self.unawaited <= self.read => Some(*number),
            _ => None,
        };
        if let Some(message) = only.and_then(|number| self.remove(number)) {
            message.keys.iter().for_each(|key| self.abandoned.add(key.clone()));
            message.complete(Ok(body));
        } else {
            let beginning = beginning(&body);
            tracing::debug!(%beginning, "ignoring a reply without an id");
        }
    }

    /// Fails all pending messages. Replies to them may still arrive.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.by_id.clear();
        for (_, message) in self.messages.drain() {
            self.unawaited = self.unawaited.max(message.sent.unwrap_or_default());
            message.keys.iter().for_each(|key| self.abandoned.add(key.clone()));
            message.complete(Err(failure.clone()));
        }
    }

    fn remove(&mut self, number: u64) -> Option<PendingMessage> {
        let message = self.messages.remove(&number)?;
        for key in &message.keys {
            // A later message may have reused the id.
            if self.by_id.get(key) == Some(&number) {
                self.by_id.remove(key);
            }
        }
        Some(message)
    }

    fn expected(&self) -> String {
        let mut ids: Vec<String> = self.by_id.keys().take(20).map(Key::to_string).collect();
        ids.sort();
        excerpt(&ids.join(", "), 200).into_owned()
    }
}

impl PendingMessage {
    fn complete(self, reply: Reply) {
        // The caller may have been cancelled.
        drop(self.reply.send(reply));
    }
}
