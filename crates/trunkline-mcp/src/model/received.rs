use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A value of the protocol that was received: the members that the model has, and the whole text, which is passed on
/// unchanged. Its texts are those of the other side, and not trusted.
///
/// Harmless deviations are accepted: unknown members, null for absent ones, and malformed annotations, icons, sizes and
/// `_meta`, which are treated as absent. Names, URIs, schemas and content must be as specified.
#[derive(Debug, Clone)]
pub struct Received<T> {
    value: T,
    object: Box<RawValue>,
}

impl<T: DeserializeOwned> Received<T> {
    pub(crate) fn read(object: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { value: serde_json::from_str(object.get())?, object })
    }
}

impl<T> Received<T> {
    /// The whole object.
    #[must_use]
    pub fn object(&self) -> &RawValue {
        &self.object
    }

    /// The whole object.
    #[must_use]
    pub fn into_object(self) -> Box<RawValue> {
        self.object
    }

    /// The members that the model has.
    #[must_use]
    pub fn into_value(self) -> T {
        self.value
    }
}

impl<T> Deref for Received<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
