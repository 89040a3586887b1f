use std::hash::{Hash, Hasher};
use std::slice::Iter;

use crate::error::Error;
use crate::value::Value;
use crate::value::equality::{self, Digest, Pairs};
use crate::value::index::Indexed;
use crate::value::unnesting;

/// Keys with values, in the order in which they were written or added. Two maps are equal if they have
/// the same entries, in whatever order.
#[derive(Default)]
pub struct Map(Indexed<(Value, Value)>);

impl Map {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(Indexed::new())
    }

    /// The map of entries that have distinct keys.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`](crate::Reason::DuplicateKey).
    pub fn of_entries(entries: Vec<(Value, Value)>) -> Result<Self, Error> {
        Indexed::of(entries).map(Self)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.find(key).map(|at| &self.entries()[at].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.find(key).map(|at| &mut self.0.parts_mut()[at].1)
    }

    /// Whether there is such a key.
    #[must_use]
    pub fn contains_key(&self, key: &Value) -> bool {
        self.0.find(key).is_some()
    }

    /// Gives a key a value: in place of an earlier one, which is returned, or at the end.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some(earlier) = self.get_mut(&key) {
            return Some(std::mem::replace(earlier, value));
        }
        self.0.push((key, value));
        None
    }

    /// Takes an entry out. The others keep their order, and those behind it move up.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        let (_, value) = self.0.remove(self.0.find(key)?);
        Some(value)
    }

    /// Keeps the entries of which this is true, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value, &mut Value) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// The entries, in their order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Value, &Value)> + DoubleEndedIterator + Clone {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries().iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries().iter().map(|(_, value)| value)
    }

    /// The entries, in their order, with values to be changed.
    pub fn iter_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = (&Value, &mut Value)> + DoubleEndedIterator {
        self.0.parts_mut().iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The values, in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.0.parts_mut().iter_mut().map(|(_, value)| value)
    }

    /// The entries.
    #[must_use]
    pub fn into_entries(mut self) -> Vec<(Value, Value)> {
        self.0.take()
    }

    pub(crate) fn entries(&self) -> &[(Value, Value)] {
        self.0.parts()
    }

    pub(crate) fn digest(&self) -> Option<&Digest> {
        self.0.digest()
    }

    /// The map of clones of the entries.
    pub(crate) fn with_entries(&self, entries: Vec<(Value, Value)>) -> Self {
        Self(self.0.with_parts(entries))
    }

    /// For dropping.
    pub(crate) fn take(&mut self) -> Vec<(Value, Value)> {
        self.0.take()
    }
}

impl Clone for Map {
    fn clone(&self) -> Self {
        Self(self.0.with_parts(unnesting::clone_all(self.0.parts())))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        unnesting::drop_all(self.0.take());
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        let mut waiting = Pairs::new();
        equality::begin_maps(self, other, &mut waiting) && equality::are_equal(waiting)
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        equality::hash_unordered(self.entries(), state);
    }
}

/// Of entries with the same key, the last counts.
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
