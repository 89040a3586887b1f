//! A token in its compact form (RFC 7515, section 7.1), before anything of it is believed.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use trunkline_core::limits::DistinctKeys;

use super::algorithm::Algorithm;
use super::error::TokenError;
use super::key::Key;

pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    /// The name of the key that it says to be signed with.
    pub(super) key_id: Option<String>,
    /// What is signed.
    message: &'a [u8],
    payload: &'a [u8],
    signature: &'a [u8],
}

/// What a header may say of keys (`jwk`, `jku`, `x5c`, …) is not looked at: whoever signs a token
/// could bring their own.
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

/// Parses JSON without duplicate keys: of two, another reader may take the other one.
pub(super) fn json<T: DeserializeOwned>(text: &[u8]) -> Result<T, TokenError> {
    let DistinctKeys(value) = serde_json::from_slice(text).map_err(|_| TokenError::Malformed)?;
    serde_json::from_value(value).map_err(|_| TokenError::Malformed)
}
