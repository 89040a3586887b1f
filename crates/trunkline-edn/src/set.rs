use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::{Error, Reason};
use crate::index::Index;
use crate::sameness;
use crate::unnesting;
use crate::value::Value;

/// Distinct values, in the order in which they were written or added. Two sets are equal if they have
/// the same values, in whatever order.
#[derive(Clone, Default)]
pub struct Set {
    values: Vec<Value>,
    index: Index,
}

impl Set {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self { values: Vec::new(), index: Index::new() }
    }

    /// The set of distinct values.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`].
    pub fn of_values(values: Vec<Value>) -> Result<Self, Error> {
        match Index::of(values.len(), |at| &values[at]) {
            Ok(index) => Ok(Self { values, index }),
            Err(at) => Err(Error::from(Reason::duplicate_key(&values[at]))),
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether the value is there.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.place(value).is_some()
    }

    /// Adds a value at the end, if it is not there yet. Tells whether it was not.
    pub fn insert(&mut self, value: impl Into<Value>) -> bool {
        let value = value.into();
        if self.contains(&value) {
            return false;
        }
        self.values.push(value);
        self.index.push(self.values.len(), |at| &self.values[at]);
        true
    }

    /// Takes a value out, and tells whether it was there. The others keep their order, and those
    /// behind it move up.
    pub fn remove(&mut self, value: &Value) -> bool {
        let Some(at) = self.place(value) else { return false };
        self.values.remove(at);
        // The values were distinct, and still are.
        self.index = Index::of(self.values.len(), |at| &self.values[at]).unwrap_or_default();
        true
    }

    /// The values, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.values.iter()
    }

    /// The values.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    /// For dropping, which may leave it as nothing that could be used.
    pub(crate) fn contents(&mut self) -> &mut Vec<Value> {
        &mut self.values
    }

    fn place(&self, value: &Value) -> Option<usize> {
        self.index.find(value, self.values.len(), |at| &self.values[at])
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        unnesting::take_apart(&mut self.values);
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && sameness::pairs(self.len(), |at| &self.values[at], |at| &other.values[at]).is_some()
    }
}

impl Eq for Set {}

impl Hash for Set {
    fn hash<H: Hasher>(&self, state: &mut H) {
        sameness::hash_unordered(&self.values, state);
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

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.values).finish()
    }
}
