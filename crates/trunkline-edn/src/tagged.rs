use std::fmt;

use crate::symbol::Symbol;
use crate::unnesting;
use crate::value::Value;

/// A value behind a tag that means nothing to the reader: `#my/point [1 2]`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tagged(Box<Parts>);

/// Boxed together: a tag and a pointer would be the largest of values.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Parts {
    tag: Symbol,
    value: Value,
}

impl Tagged {
    /// `#tag value`.
    #[must_use]
    pub fn new(tag: Symbol, value: impl Into<Value>) -> Self {
        Self(Box::new(Parts { tag, value: value.into() }))
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Symbol {
        &self.0.tag
    }

    /// What is tagged.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// What is tagged.
    #[must_use]
    pub fn into_value(mut self) -> Value {
        std::mem::take(&mut self.0.value)
    }

    /// For dropping.
    pub(crate) fn take(&mut self) -> Value {
        std::mem::take(&mut self.0.value)
    }
}

impl Drop for Tagged {
    fn drop(&mut self) {
        unnesting::drop_all([self.take()]);
    }
}

impl fmt::Debug for Tagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {:?}", self.0.tag, self.0.value)
    }
}
