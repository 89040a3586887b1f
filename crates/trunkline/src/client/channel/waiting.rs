//! The calls that wait for their replies.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::addressee::Addressee;
use super::recent::Recent;
use crate::client::error::{Failure, ProtocolError};
use crate::client::response::beginning;
use crate::id::Id;
use crate::stream::Key;

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
    gone: Recent,
    answered: Recent,
}

#[derive(Debug)]
struct Waiter {
    keys: Vec<Key>,
    answer: oneshot::Sender<Answer>,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self {
            by_id: HashMap::new(),
            messages: HashMap::new(),
            last: 0,
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
        self.messages.insert(self.last, Waiter { keys, answer });
        (self.last, later)
    }

    /// Nobody waits for a message any more. Gives back the ids of its calls; none if it was answered.
    pub(super) fn abandon(&mut self, number: u64) -> Vec<Key> {
        let Some(waiter) = self.remove(number) else {
            return Vec::new();
        };
        waiter.keys.iter().for_each(|key| self.gone.add(key.clone()));
        waiter.keys
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
        let found = keys.iter().find_map(|key| self.by_id.get(key).copied());
        // Without an id, the one that waits is meant.
        let only = self.messages.keys().next().filter(|_| self.messages.len() == 1).copied();
        if let Some(number) = found.or(only.filter(|_| keys.is_empty())) {
            self.answer(number, body);
            return Ok(());
        }
        // All of a batch that is gone is expected no more.
        let gone = keys.iter().filter(|key| self.gone.take(key)).count();
        if gone > 0 {
            return Ok(());
        }
        match keys.first() {
            Some(key) if self.answered.has(key) => {
                Err(ProtocolError::Duplicate { id: key.to_string() })
            }
            Some(key) => {
                let found = key.to_string().chars().take(100).collect();
                Err(ProtocolError::WrongId { expected: self.expected(), found })
            }
            None => Err(without_id(&body)),
        }
    }

    /// All calls that wait fail. Replies to them may still come.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.by_id.clear();
        for (_, Waiter { keys, answer }) in self.messages.drain() {
            keys.into_iter().for_each(|key| self.gone.add(key));
            // Who does not wait needs not be told.
            drop(answer.send(Err(failure.clone())));
        }
    }

    fn answer(&mut self, number: u64, body: Bytes) {
        if let Some(Waiter { keys, answer }) = self.remove(number) {
            keys.into_iter().for_each(|key| self.answered.add(key));
            drop(answer.send(Ok(body)));
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
        ids.join(", ").chars().take(200).collect()
    }
}

fn without_id(body: &[u8]) -> ProtocolError {
    let reason = "it has no id, and cannot be told whose it is".to_owned();
    ProtocolError::Malformed { reason, beginning: beginning(body) }
}
