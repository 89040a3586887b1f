use crate::value::unnesting;
use crate::value::{Symbol, Value};

/// A value behind a tag that means nothing to the reader: `#my/point [1 2]`.
#[derive(PartialEq, Eq, Hash)]
pub struct Tagged(Box<TagAndValue>);

/// Boxed together: a tag and a pointer would be the largest of values.
#[derive(PartialEq, Eq, Hash)]
struct TagAndValue {
    tag: Symbol,
    value: Value,
}

impl Tagged {
    /// `#tag value`.
    #[must_use]
    pub fn new(tag: Symbol, value: impl Into<Value>) -> Self {
        Self(Box::new(TagAndValue { tag, value: value.into() }))
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

    /// The same tag before another value.
    pub(crate) fn with_value(&self, value: Value) -> Self {
        Self::new(self.tag().clone(), value)
    }

    /// For dropping.
    pub(crate) fn take(&mut self) -> Value {
        std::mem::take(&mut self.0.value)
    }
}

impl Clone for Tagged {
    fn clone(&self) -> Self {
        self.with_value(unnesting::clone_one(self.value()))
    }
}

impl Drop for Tagged {
    fn drop(&mut self) {
        unnesting::drop_all([self.take()]);
    }
}
