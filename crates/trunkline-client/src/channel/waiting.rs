//! The calls that wait for their replies.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::oneshot;
use trunkline_core::error::excerpt;
use trunkline_core::id::Id;

use super::addressee::Addressee;
use super::recent::Recent;
use crate::error::{Failure, ProtocolError};
use crate::frame::Key;
use crate::response::beginning;

/// How many calls that nobody waits for any more are remembered, so that their late replies surprise
/// nobody.
const GONE: usize = 1_024;
/// How many that were answered, to tell a second reply from one that was not asked for.
const ANSWERED: usize = 128;

/// What comes of a message: the body that answers it.
pub(super) type Answer = Result<Bytes, Failure>;

/// Who waits for which reply.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The messages by the ids of their calls.
    by_id: HashMap<Key, u64>,
    messages: HashMap<u64, Waiter>,
    last: u64,
    /// How many messages have been sent.
    sent: u64,
    /// Up to which of them the server has read for sure: it has answered that one.
    read: u64,
    /// The last of them that nobody waits for: a notification, or what was cancelled. Up to there, what
    /// the server has not read yet may be answered without an id.
    unawaited: u64,
    gone: Recent,
    answered: Recent,
}

#[derive(Debug)]
struct Waiter {
    keys: Vec<Key>,
    answer: oneshot::Sender<Answer>,
    /// The how manieth message it is, once it is sent.
    sent: Option<u64>,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self {
            by_id: HashMap::new(),
            messages: HashMap::new(),
            last: 0,
            sent: 0,
            read: 0,
            unawaited: 0,
            gone: Recent::new(GONE),
            answered: Recent::new(ANSWERED),
        }
    }

    /// Waits for the reply to a message with these ids. It is known by the number from now on.
    pub(super) fn add(&mut self, ids: &[Id]) -> (u64, oneshot::Receiver<Answer>) {
        self.last += 1;
        let keys: Vec<Key> = ids.iter().map(Key::from).collect();
        for key in &keys {
            self.by_id.insert(key.clone(), self.last);
        }
        let (answer, later) = oneshot::channel();
        self.messages.insert(self.last, Waiter { keys, answer, sent: None });
        (self.last, later)
    }

    /// A message is about to be sent, unless nobody waits for its reply any more.
    pub(super) fn begin(&mut self, number: u64) -> bool {
        let Some(waiter) = self.messages.get_mut(&number) else {
            return false;
        };
        self.sent += 1;
        waiter.sent = Some(self.sent);
        true
    }

    /// A message that wants no reply is about to be sent.
    pub(super) fn begin_unanswered(&mut self) {
        self.sent += 1;
        self.unawaited = self.sent;
    }

    /// Nobody waits for a message any more. Gives back the ids of its calls, if it was sent and not
    /// answered.
    pub(super) fn abandon(&mut self, number: u64) -> Option<Vec<Key>> {
        let waiter = self.remove(number)?;
        self.unawaited = self.unawaited.max(waiter.sent?);
        waiter.keys.iter().for_each(|key| self.gone.add(key.clone()));
        Some(waiter.keys)
    }

    /// Gives a body to whom it is for.
    ///
    /// # Errors
    /// When it is for nobody. It may be what a call waits for, in a form that cannot be told.
    pub(super) fn deliver(&mut self, to: &Addressee, body: Bytes) -> Result<(), ProtocolError> {
        let keys = match to {
            Addressee::Call(key) => std::slice::from_ref(key),
            Addressee::Batch(keys) => keys,
            Addressee::Unknown | Addressee::Server(_) => &[],
        };
        if keys.is_empty() {
            self.deliver_without_id(body);
            return Ok(());
        }
        if let Some(number) = keys.iter().find_map(|key| self.by_id.get(key).copied()) {
            if let Some(waiter) = self.remove(number) {
                self.read = self.read.max(waiter.sent.unwrap_or_default());
                waiter.keys.iter().for_each(|key| self.answered.add(key.clone()));
                waiter.tell(Ok(body));
            }
            return Ok(());
        }
        // All of a batch that is gone is expected no more.
        let gone = keys.iter().filter(|key| self.gone.take(key)).count();
        if gone > 0 {
            return Ok(());
        }
        let Some(key) = keys.first() else {
            return Ok(());
        };
        if self.answered.has(key) {
            return Err(ProtocolError::Duplicate { id: key.to_string() });
        }
        let found = excerpt(&key.to_string(), 100).into_owned();
        Err(ProtocolError::WrongId { expected: self.expected(), found })
    }

    /// The server could not read a message. It is told to whom it is about only if that cannot be
    /// another one; the reply itself may still come all the same.
    fn deliver_without_id(&mut self, body: Bytes) {
        let mut sent = self.messages.iter().filter(|(_, waiter)| waiter.sent.is_some());
        let only = match (sent.next(), sent.next()) {
            (Some((number, _)), None) if self.unawaited <= self.read => Some(*number),
            _ => None,
        };
        if let Some(waiter) = only.and_then(|number| self.remove(number)) {
            waiter.keys.iter().for_each(|key| self.gone.add(key.clone()));
            waiter.tell(Ok(body));
        } else {
            let beginning = beginning(&body);
            tracing::debug!(%beginning, "a reply has no id, and cannot be told whose it is");
        }
    }

    /// All calls that wait fail. Replies to them may still come.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.by_id.clear();
        for (_, waiter) in self.messages.drain() {
            self.unawaited = self.unawaited.max(waiter.sent.unwrap_or_default());
            waiter.keys.iter().for_each(|key| self.gone.add(key.clone()));
            waiter.tell(Err(failure.clone()));
        }
    }

    fn remove(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.messages.remove(&number)?;
        for key in &waiter.keys {
            // The id may be another message's by now.
            if self.by_id.get(key) == Some(&number) {
                self.by_id.remove(key);
            }
        }
        Some(waiter)
    }

    fn expected(&self) -> String {
        let mut ids: Vec<String> = self.by_id.keys().take(20).map(Key::to_string).collect();
        ids.sort();
        excerpt(&ids.join(", "), 200).into_owned()
    }
}

impl Waiter {
    fn tell(self, answer: Answer) {
        // Who does not wait needs not be told.
        drop(self.answer.send(answer));
    }
}
