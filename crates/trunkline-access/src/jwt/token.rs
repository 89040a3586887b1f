//! Tokens in compact form (RFC 7515, section 7.1), before they are verified.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use trunkline_core::limits::DistinctKeys;

use super::algorithm::Algorithm;
use super::key::Key;

/// Why a token is not accepted. No variant holds anything of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Longer than [`JwtConfig::max_bytes`](super::JwtConfig::max_bytes); nothing of it was read.
    #[error("the token has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Not a signed JSON Web Token, or a claim has the wrong type.
    #[error("the token is malformed")]
    Malformed,
    /// The header names `none` or an unknown algorithm.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// The header has critical extensions (`crit`), of which none is supported.
    #[error("the token has critical header parameters")]
    Critical,
    /// No key fits the token's algorithm and key id.
    #[error("no key fits the token")]
    UnknownKey,
    /// Keys are missing: they could not be read or fetched, or are too old.
    #[error("there are no keys to check tokens with")]
    NoKeys,
    /// The signature is of another token, or made with another key.
    #[error("the token's signature is wrong")]
    Signature,
    /// `exp` is in the past.
    #[error("the token has expired")]
    Expired,
    /// `exp` is missing.
    #[error("the token never expires")]
    NoExpiry,
    /// `nbf` is in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// `iat` is in the future.
    #[error("the token was issued in the future")]
    IssuedInFuture,
    /// `aud` has none of the accepted names.
    #[error("the token is for another audience")]
    Audience,
    /// `iss` is not an accepted issuer.
    #[error("the token is from another issuer")]
    Issuer,
}

pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    /// `kid`: the name of the key.
    pub(super) key_id: Option<String>,
    /// The signed part.
    message: &'a [u8],
    payload: &'a [u8],
    signature: &'a [u8],
}

/// Keys in the header (`jwk`, `jku`, `x5c`, …) are ignored: an attacker could bring a key along.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(default, rename = "crit", deserialize_with = "present")]
    has_critical: bool,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl<'a> Token<'a> {
    pub(super) fn parse(text: &'a [u8], max_bytes: usize) -> Result<Self, TokenError> {
        if text.len() > max_bytes {
            return Err(TokenError::TooLarge { limit: max_bytes });
        }
        let mut parts = text.split(|byte| *byte == b'.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenError::Malformed);
        };
        let message = &text[..header.len() + 1 + payload.len()];
        let header: Header = json(&decode(header)?)?;
        if header.has_critical {
            return Err(TokenError::Critical);
        }
        let algorithm = Algorithm::named(&header.alg).ok_or(TokenError::Algorithm)?;
        Ok(Self { algorithm, key_id: header.kid, message, payload, signature })
    }

    /// The claims' JSON text, if the token is signed with this key.
    pub(super) fn opened(&self, key: &Key) -> Result<Vec<u8>, TokenError> {
        let signature = decode(self.signature)?;
        if !key.verifies(self.algorithm, self.message, &signature) {
            return Err(TokenError::Signature);
        }
        decode(self.payload)
    }
}

fn decode(text: &[u8]) -> Result<Vec<u8>, TokenError> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)
}

/// Parses JSON without duplicate keys, of which another reader might take the other one.
pub(super) fn json<T: DeserializeOwned>(text: &[u8]) -> Result<T, TokenError> {
    let DistinctKeys(value) = serde_json::from_slice(text).map_err(|_| TokenError::Malformed)?;
    serde_json::from_value(value).map_err(|_| TokenError::Malformed)
}
