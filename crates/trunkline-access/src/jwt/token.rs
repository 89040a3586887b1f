//! Tokens in compact serialization (RFC 7515, section 7.1) and the verification of their signature.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use trunkline_core::limits::DistinctKeys;

use super::algorithm::Algorithm;
use super::key::Key;

/// The reason why a token is not accepted. No variant contains any part of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Longer than [`JwtConfig::max_bytes`](super::JwtConfig::max_bytes). The token was not parsed.
    #[error("token exceeds {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Not a signed JSON Web Token, or a claim has the wrong type.
    #[error("the token is malformed")]
    Malformed,
    /// The algorithm is `none` or unknown.
    #[error("unsupported token algorithm")]
    Algorithm,
    /// The header has critical extensions (`crit`), none of which is supported.
    #[error("unsupported critical header parameters (`crit`)")]
    Critical,
    /// No key has the token's algorithm and key id.
    #[error("no key matches the token's algorithm and `kid`")]
    UnknownKey,
    /// Keys are missing: they could not be read or fetched, or are too old.
    #[error("no keys available to verify tokens")]
    NoKeys,
    /// The signature does not match the token and the key.
    #[error("invalid token signature")]
    Signature,
    /// `exp` is in the past.
    #[error("the token has expired")]
    Expired,
    /// `exp` is missing.
    #[error("`exp` claim is missing")]
    NoExpiry,
    /// `nbf` is in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// `iat` is in the future.
    #[error("`iat` claim is in the future")]
    IssuedInFuture,
    /// `aud` contains none of the accepted audiences.
    #[error("`aud` claim does not match the accepted audiences")]
    Audience,
    /// `iss` is not an accepted issuer.
    #[error("`iss` claim does not match the accepted issuers")]
    Issuer,
}

pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    /// `kid`, the key id.
    pub(super) key_id: Option<String>,
    /// The signed part.
    message: &'a [u8],
    payload: &'a [u8],
    signature: &'a [u8],
}

/// Keys in the header (`jwk`, `jku`, `x5c`, …) are ignored: an attacker could supply a key.
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

    /// The JSON text of the claims, if the token is signed with this key.
    pub(super) fn verified_claims(&self, key: &Key) -> Result<Vec<u8>, TokenError> {
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

/// Parses JSON and rejects duplicate keys, which parsers resolve differently.
pub(super) fn json<T: DeserializeOwned>(text: &[u8]) -> Result<T, TokenError> {
    let DistinctKeys(value) = serde_json::from_slice(text).map_err(|_| TokenError::Malformed)?;
    serde_json::from_value(value).map_err(|_| TokenError::Malformed)
}
