//! Sets of keys (RFC 7517, section 5), and the choice of the keys for a token.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::key::Key;
use super::token::{Token, TokenError};

#[derive(Debug, Clone, Default)]
pub(super) struct KeySet(Vec<Key>);

/// Why no key of a set opens a token.
pub(super) struct Unopened {
    pub(super) error: TokenError,
    /// Whether a newer set may have the key: the token names an unknown one.
    pub(super) may_be_newer: bool,
}

/// The maximum number of keys that are tried. Each costs the time of a signature.
const TRIES: usize = 8;

/// Why a JSON Web Key Set is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// Not JSON, or not an object with an array `keys`.
    #[error("it is not a JSON Web Key Set, like {{\"keys\":[…]}}")]
    Malformed,
    /// None of the keys can check signatures.
    #[error("none of its {keys} keys can be used")]
    NoKey {
        /// The number of keys.
        keys: usize,
        /// Why the first one cannot.
        #[source]
        first: Option<super::KeyError>,
    },
    /// All of the keys are secrets, and anyone can read a set at a URL.
    #[error("its keys are secrets, which a URL would publish")]
    OnlySecrets,
}

impl KeySet {
    pub(super) fn new(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Parses a set. Keys that cannot check signatures are left out.
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

    /// Removes the keys that can sign, too.
    pub(super) fn without_secrets(mut self) -> Self {
        self.0.retain(|key| !key.is_secret());
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The claims' JSON text, if the token is signed with a key that it may mean.
    pub(super) fn open(&self, token: &Token<'_>) -> Result<Vec<u8>, Unopened> {
        let mut error = TokenError::UnknownKey;
        for key in self.keys_for(token).take(TRIES) {
            match token.opened(key) {
                Err(TokenError::Signature) => error = TokenError::Signature,
                Ok(claims) => return Ok(claims),
                Err(error) => return Err(Unopened { error, may_be_newer: false }),
            }
        }
        Err(Unopened { error, may_be_newer: !self.has_named(token) })
    }

    /// The keys that the token names, or else those without a name; if it names none, all that are
    /// for its algorithm.
    fn keys_for<'a>(&'a self, token: &'a Token<'_>) -> impl Iterator<Item = &'a Key> {
        let is_named = self.has_named(token);
        self.0.iter().filter(move |key| {
            let fits = match token.key_id.as_deref() {
                None => true,
                named if is_named => key.id() == named,
                _ => key.id().is_none(),
            };
            fits && key.is_for(token.algorithm)
        })
    }

    fn has_named(&self, token: &Token<'_>) -> bool {
        let is_named =
            |key: &Key| key.is_for(token.algorithm) && key.id() == token.key_id.as_deref();
        token.key_id.is_some() && self.0.iter().any(is_named)
    }
}
