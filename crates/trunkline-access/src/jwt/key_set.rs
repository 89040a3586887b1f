//! Key sets (RFC 7517, section 5) and the selection of keys for a token.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::key::Key;
use super::token::{Token, TokenError};

#[derive(Debug, Clone, Default)]
pub(super) struct KeySet(Vec<Key>);

/// The error for a token that no key of a set verifies.
pub(super) struct Unverified {
    pub(super) error: TokenError,
    /// Whether a newer set may contain the key: the token names an unknown key.
    pub(super) may_be_newer: bool,
}

/// The maximum number of keys tried per token. Each costs one signature verification.
const MAX_TRIED_KEYS: usize = 8;

/// The error for an unusable JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// Not JSON, or not an object with an array `keys`.
    #[error("not a JSON Web Key Set; expected `{{\"keys\": […]}}`")]
    Malformed,
    /// None of the keys can verify signatures.
    #[error("no usable key among {keys}")]
    NoKey {
        /// The number of keys.
        keys: usize,
        /// The error of the first key.
        #[source]
        first: Option<super::KeyError>,
    },
    /// All keys are secrets, which must not be published at a URL.
    #[error("all keys are secrets, which must not be published at a URL")]
    OnlySecrets,
}

impl KeySet {
    pub(super) fn new(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Parses a set. Skips keys that cannot verify signatures.
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
                    tracing::debug!(%error, "skipping a key of the set");
                    first.get_or_insert(error);
                }
            }
        }
        if keys.is_empty() {
            return Err(KeySetError::NoKey { keys: set.keys.len(), first });
        }
        Ok(Self::new(keys))
    }

    /// Removes shared secrets, which could also sign tokens.
    pub(super) fn without_secrets(mut self) -> Self {
        self.0.retain(|key| !key.is_secret());
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The JSON text of the claims, if the token is signed with a matching key.
    pub(super) fn verified_claims(&self, token: &Token<'_>) -> Result<Vec<u8>, Unverified> {
        let mut error = TokenError::UnknownKey;
        for key in self.keys_for(token).take(MAX_TRIED_KEYS) {
            match token.verified_claims(key) {
                Err(TokenError::Signature) => error = TokenError::Signature,
                Ok(claims) => return Ok(claims),
                Err(error) => return Err(Unverified { error, may_be_newer: false }),
            }
        }
        Err(Unverified { error, may_be_newer: !self.has_named(token) })
    }

    /// The keys with the token's `kid`, or else the keys without an id. For a token without `kid`, all keys.
    /// Only keys for the token's algorithm.
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
