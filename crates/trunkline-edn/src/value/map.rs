use std::hash::{Hash, Hasher};
use std::slice::Iter;
use std::vec::Drain;

use super::Value;
use super::keyed_vec::KeyedVec;
use crate::error::Error;

/// Keys with values, in insertion order. Two maps are equal if they have the same entries, in any order.
#[derive(Clone, Default)]
pub struct Map(KeyedVec<(Value, Value)>);

impl Map {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(KeyedVec::new())
    }

    /// The map of entries with distinct keys.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`](crate::Reason::DuplicateKey).
    pub fn of_entries(entries: Vec<(Value, Value)>) -> Result<Self, Error> {
        KeyedVec::from_items(entries).map(Self)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether the map has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.find(key).map(|at| &self.entries()[at].1)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.find(key).map(|at| &mut self.0.items_mut()[at].1)
    }

    /// Whether the map has this key.
    #[must_use]
    pub fn contains_key(&self, key: &Value) -> bool {
        self.0.find(key).is_some()
    }

    /// Sets the value of a key. A new entry is the last; the value of an existing entry is replaced and returned.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some(earlier) = self.get_mut(&key) {
            return Some(std::mem::replace(earlier, value));
        }
        self.0.push((key, value));
        None
    }

    /// Removes an entry, and returns its value. The others keep their order.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        let (_, value) = self.0.remove(self.0.find(key)?);
        Some(value)
    }

    /// Keeps the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value, &mut Value) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// The entries in order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Value, &Value)> + DoubleEndedIterator + Clone {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries().iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries().iter().map(|(_, value)| value)
    }

    /// The entries in order, with mutable values.
    pub fn iter_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = (&Value, &mut Value)> + DoubleEndedIterator {
        self.0.items_mut().iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The mutable values, in the order of their keys.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.0.items_mut().iter_mut().map(|(_, value)| value)
    }

    /// The entries.
    #[must_use]
    pub fn into_entries(self) -> Vec<(Value, Value)> {
        self.0.into_items()
    }

    /// The entries of alternating keys and values.
    pub(crate) fn pairs(mut items: Drain<'_, Value>) -> Vec<(Value, Value)> {
        let mut entries = Vec::with_capacity(items.len() / 2);
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push((key, value));
        }
        entries
    }

    pub(crate) fn entries(&self) -> &[(Value, Value)] {
        self.0.items()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&other.0, |a, b| a.1 == b.1)
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.unordered_hash());
    }
}

/// The last of several entries with the same key is kept.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Into<Value>, V: Into<Value>> Extend<(K, V)> for Map {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_entries().into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Value, &'a Value);
    type IntoIter = std::iter::Map<Iter<'a, (Value, Value)>, fn(&'a (Value, Value)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries().iter().map(|(key, value)| (key, value))
    }
}
