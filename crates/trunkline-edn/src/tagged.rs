use std::fmt;

use crate::symbol::Symbol;
use crate::unnesting;
use crate::value::Value;

/// A value behind a tag that means nothing to the reader: `#my/point [1 2]`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tagged {
    tag: Symbol,
    value: Box<Value>,
}

impl Tagged {
    /// `#tag value`.
    #[must_use]
    pub fn new(tag: Symbol, value: impl Into<Value>) -> Self {
        Self { tag, value: Box::new(value.into()) }
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Symbol {
        &self.tag
    }

    /// What is tagged.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What is tagged.
    #[must_use]
    pub fn into_value(mut self) -> Value {
        std::mem::replace(&mut self.value, Value::Nil)
    }

    pub(crate) fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }
}

impl Drop for Tagged {
    fn drop(&mut self) {
        unnesting::take_apart(std::slice::from_mut(&mut *self.value));
    }
}

impl fmt::Debug for Tagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {:?}", self.tag, self.value)
    }
}
