use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::folder::Folder;
use super::secret::{Secret, SecretFile};

/// Text, or a secret.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Value {
    Text(String),
    Secret(Secret),
}

impl Value {
    /// The file of the secret, if the text is in one.
    pub(super) fn file(&self, folder: &Folder) -> Option<SecretFile> {
        match self {
            Self::Text(_) => None,
            Self::Secret(secret) => secret.file(folder),
        }
    }

    /// The text, or that of the secret.
    pub(super) fn read(&self, folder: &Folder) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Secret(secret) => secret.read(folder).map(|text| text.get().to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, { env = \"NAME\" } or { file = \"PATH\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Secret::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Value::Secret)
    }
}
