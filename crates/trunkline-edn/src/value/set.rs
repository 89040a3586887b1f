use std::hash::{Hash, Hasher};

use crate::error::Error;
use crate::value::Value;
use crate::value::equality::{self, Digest, Pairs};
use crate::value::index::Indexed;
use crate::value::unnesting;

/// Distinct values, in the order in which they were written or added. Two sets are equal if they have
/// the same values, in whatever order.
#[derive(Default)]
pub struct Set(Indexed<Value>);

impl Set {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(Indexed::new())
    }

    /// The set of distinct values.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`](crate::Reason::DuplicateKey).
    pub fn of_values(values: Vec<Value>) -> Result<Self, Error> {
        Indexed::of(values).map(Self)
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.parts().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.parts().is_empty()
    }

    /// Whether the value is there.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.0.find(value).is_some()
    }

    /// Adds a value at the end, if it is not there yet. Tells whether it was not.
    pub fn insert(&mut self, value: impl Into<Value>) -> bool {
        let value = value.into();
        if self.contains(&value) {
            return false;
        }
        self.0.push(value);
        true
    }

    /// Takes a value out, and tells whether it was there. The others keep their order, and those
    /// behind it move up.
    pub fn remove(&mut self, value: &Value) -> bool {
        let Some(at) = self.0.find(value) else { return false };
        self.0.remove(at);
        true
    }

    /// Keeps the values of which this is true, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value) -> bool) {
        self.0.retain(|value| keep(value));
    }

    /// The values, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.0.parts().iter()
    }

    /// The values.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<Value> {
        self.0.take()
    }

    pub(crate) fn values(&self) -> &[Value] {
        self.0.parts()
    }

    pub(crate) fn digest(&self) -> Option<&Digest> {
        self.0.digest()
    }

    /// The set of clones of the values.
    pub(crate) fn with_values(&self, values: Vec<Value>) -> Self {
        Self(self.0.with_parts(values))
    }

    /// For dropping.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        self.0.take()
    }
}

impl Clone for Set {
    fn clone(&self) -> Self {
        Self(self.0.with_parts(unnesting::clone_all(self.0.parts())))
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        unnesting::drop_all(self.0.take());
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        let mut waiting = Pairs::new();
        equality::begin_sets(self, other, &mut waiting) && equality::are_equal(waiting)
    }
}

impl Eq for Set {}

impl Hash for Set {
    fn hash<H: Hasher>(&self, state: &mut H) {
        equality::hash_unordered(self.0.parts(), state);
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
