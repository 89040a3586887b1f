use super::{Symbol, Value};

/// A value with a tag that is unknown to the reader: `#my/point [1 2]`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tagged(Box<(Symbol, Value)>);

impl Tagged {
    /// `#tag value`.
    #[must_use]
    pub fn new(tag: Symbol, value: impl Into<Value>) -> Self {
        Self(Box::new((tag, value.into())))
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Symbol {
        &self.0.0
    }

    /// The tagged value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.1
    }

    /// The tagged value.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0.1
    }
}
