use std::collections::VecDeque;

use crate::frame::Key;

/// The most recently added ids, up to a limit.
#[derive(Debug)]
pub(super) struct RecentKeys {
    keys: VecDeque<Key>,
    limit: usize,
}

impl RecentKeys {
    pub(super) fn new(limit: usize) -> Self {
        Self { keys: VecDeque::new(), limit }
    }

    pub(super) fn add(&mut self, key: Key) {
        if self.keys.len() == self.limit {
            self.keys.pop_front();
        }
        self.keys.push_back(key);
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }

    /// Removes an id. Returns whether it was present.
    pub(super) fn remove(&mut self, key: &Key) -> bool {
        let index = self.keys.iter().position(|other| other == key);
        index.is_some_and(|index| self.keys.remove(index).is_some())
    }
}
