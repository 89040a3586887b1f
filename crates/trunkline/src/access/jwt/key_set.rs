//! Sets of keys (RFC 7517, section 5), and which key a token is checked with.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::key::Key;
use super::token::Token;

#[derive(Debug, Clone, Default)]
pub(super) struct KeySet(Vec<Arc<Key>>);

/// Why a text is no JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// Not JSON, or not an object with an array `keys`.
    #[error("it is not a JSON Web Key Set, like {{\"keys\":[…]}}")]
    Malformed,
    /// None of the keys can check signatures.
    #[error("none of its {keys} keys can be used")]
    NoKey {
        /// How many it has.
        keys: usize,
        /// What is wrong with the first one.
        #[source]
        first: Option<super::KeyError>,
    },
    /// All of the keys are secrets, and the set is where others can read it.
    #[error("its keys are secrets, which are no secrets at a URL")]
    OnlySecrets,
}

impl KeySet {
    pub(super) fn new(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(keys.into_iter().map(Arc::new).collect())
    }

    /// Reads a set. Keys that are of no use here are for others, and left out.
    pub(super) fn parse(json: &[u8]) -> Result<Self, KeySetError> {
        #[derive(Deserialize)]
        struct Set<'a> {
            #[serde(borrow)]
            keys: Vec<&'a RawValue>,
        }

        let set: Set<'_> = serde_json::from_slice(json).map_err(|_| KeySetError::Malformed)?;
        let mut first = None;
        let mut keys = Vec::new();
        for jwk in &set.keys {
            match Key::from_jwk(jwk.get()) {
                Ok(key) => keys.push(key),
                Err(error) => {
                    tracing::debug!(%error, "a key of the set is left out");
                    first.get_or_insert(error);
                }
            }
        }
        if keys.is_empty() {
            return Err(KeySetError::NoKey { keys: set.keys.len(), first });
        }
        Ok(Self::new(keys))
    }

    /// Without the keys that whoever can read them could sign with.
    pub(super) fn without_secrets(mut self) -> Self {
        self.0.retain(|key| !key.is_secret());
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one key that a token can be signed with: the one it names, or else one without a name;
    /// of a token that names none, the only one for its algorithm.
    pub(super) fn key_for(&self, token: &Token<'_>) -> Option<&Arc<Key>> {
        let fitting = || self.0.iter().filter(|key| key.is_for(token.algorithm));
        match token.key_id.as_deref() {
            None => only(fitting()),
            Some(id) if fitting().any(|key| key.id() == Some(id)) => {
                only(fitting().filter(|key| key.id() == Some(id)))
            }
            Some(_) => only(fitting().filter(|key| key.id().is_none())),
        }
    }
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
