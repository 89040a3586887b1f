use std::collections::VecDeque;

use crate::frame::Key;

/// The ids that were added last, so many at most.
#[derive(Debug)]
pub(super) struct Recent {
    keys: VecDeque<Key>,
    limit: usize,
}

impl Recent {
    pub(super) fn new(limit: usize) -> Self {
        Self { keys: VecDeque::new(), limit }
    }

    pub(super) fn add(&mut self, key: Key) {
        if self.keys.len() == self.limit {
            self.keys.pop_front();
        }
        self.keys.push_back(key);
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }

    /// Whether the id was there. It is not any more.
    pub(super) fn take(&mut self, key: &Key) -> bool {
        let place = self.keys.iter().position(|other| other == key);
        place.is_some_and(|place| self.keys.remove(place).is_some())
    }
}
