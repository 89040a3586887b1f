use std::hash::{Hash, Hasher};

use super::Value;
use super::keyed_vec::KeyedVec;
use crate::error::Error;

/// Distinct values, in insertion order. Two sets are equal if they have the same values, in any order.
#[derive(Clone, Default)]
pub struct Set(KeyedVec<Value>);

impl Set {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(KeyedVec::new())
    }

    /// The set of distinct values.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`](crate::Reason::DuplicateKey).
    pub fn of_values(values: Vec<Value>) -> Result<Self, Error> {
        KeyedVec::from_items(values).map(Self)
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.items().len()
    }

    /// Whether the set has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.items().is_empty()
    }

    /// Whether the set contains the value.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.0.find(value).is_some()
    }

    /// Appends a value and returns true, unless the set contains it.
    pub fn insert(&mut self, value: impl Into<Value>) -> bool {
        let value = value.into();
        if self.contains(&value) {
            return false;
        }
        self.0.push(value);
        true
    }

    /// Removes a value. Returns whether the set contained it. The others keep their order.
    pub fn remove(&mut self, value: &Value) -> bool {
        let Some(at) = self.0.find(value) else { return false };
        self.0.remove(at);
        true
    }

    /// Keeps the values for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value) -> bool) {
        self.0.retain(|value| keep(value));
    }

    /// The values in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.0.items().iter()
    }

    /// The values.
    #[must_use]
    pub fn into_vec(self) -> Vec<Value> {
        self.0.into_items()
    }

    pub(crate) fn as_slice(&self) -> &[Value] {
        self.0.items()
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&other.0, |_, _| true)
    }
}

impl Eq for Set {}

impl Hash for Set {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.unordered_hash());
    }
}

impl<T: Into<Value>> FromIterator<T> for Set {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Into<Value>> Extend<T> for Set {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl IntoIterator for Set {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
