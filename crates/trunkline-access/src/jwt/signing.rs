//! Keys that sign tokens.

use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair};
use serde::Serialize;

use super::algorithm::Algorithm;

/// A private key that signs tokens, for clients that authenticate with a token (RFC 7523).
///
/// ```
/// # fn sign(pem: &str) -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::access::jwt::{Algorithm, SigningKey};
///
/// let key = SigningKey::from_pem(Algorithm::Es256, pem)?.with_id("2026-01");
/// let token = key.sign(&serde_json::json!({ "iss": "me", "exp": 1_800_000_000 }))?;
/// # Ok(())
/// # }
/// ```
pub struct SigningKey {
    id: Option<String>,
    algorithm: Algorithm,
    pair: Pair,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair, &'static dyn signature::RsaEncoding),
    Ed25519(Ed25519KeyPair),
}

/// The error for a key that cannot sign, or for claims that cannot be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningKeyError {
    /// The text is not a private key in PEM.
    #[error("not a private key in PEM (`BEGIN PRIVATE KEY` or `BEGIN RSA PRIVATE KEY`)")]
    Pem,
    /// The algorithm is symmetric.
    #[error("{0} is not an algorithm with a private key")]
    Algorithm(Algorithm),
    /// The key is malformed, too short, or does not match the algorithm.
    #[error("not a valid private key for {algorithm}: {reason}")]
    Key {
        /// The algorithm.
        algorithm: Algorithm,
        /// The defect.
        reason: String,
    },
    /// The claims cannot be serialised.
    #[error("cannot serialise the claims")]
    Claims(#[source] serde_json::Error),
    /// The system has no random numbers.
    #[error("signing failed")]
    Signature,
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

impl SigningKey {
    /// Parses a private key in PEM: PKCS #8, or PKCS #1 for RSA. An elliptic curve key must contain its public key, as
    /// those of `openssl genpkey` do. An RSA key has 2,048 to 4,096 bits.
    ///
    /// # Errors
    /// When the text is not such a key, or the key does not match `algorithm`.
    pub fn from_pem(algorithm: Algorithm, pem: &str) -> Result<Self, SigningKeyError> {
        let failed = |reason: ring::error::KeyRejected| SigningKeyError::Key {
            algorithm,
            reason: reason.to_string(),
        };
        let (der, is_pkcs8) = match section(pem, "PRIVATE KEY") {
            Some(der) => (der, true),
            None => (section(pem, "RSA PRIVATE KEY").ok_or(SigningKeyError::Pem)?, false),
        };
        let ecdsa = |curve| {
            let pair = EcdsaKeyPair::from_pkcs8(curve, &der, &SystemRandom::new());
            pair.map(Pair::Ecdsa).map_err(failed)
        };
        let rsa = |encoding| {
            let pair = if is_pkcs8 { RsaKeyPair::from_pkcs8 } else { RsaKeyPair::from_der }(&der);
            pair.map(|pair| Pair::Rsa(pair, encoding)).map_err(failed)
        };
        let pair = match algorithm {
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
                return Err(SigningKeyError::Algorithm(algorithm));
            }
            Algorithm::Rs256 => rsa(&signature::RSA_PKCS1_SHA256)?,
            Algorithm::Rs384 => rsa(&signature::RSA_PKCS1_SHA384)?,
            Algorithm::Rs512 => rsa(&signature::RSA_PKCS1_SHA512)?,
            Algorithm::Ps256 => rsa(&signature::RSA_PSS_SHA256)?,
            Algorithm::Ps384 => rsa(&signature::RSA_PSS_SHA384)?,
            Algorithm::Ps512 => rsa(&signature::RSA_PSS_SHA512)?,
            Algorithm::Es256 => ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)?,
            Algorithm::Es384 => ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)?,
            Algorithm::EdDsa => {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der);
                Pair::Ed25519(pair.map_err(failed)?)
            }
        };
        Ok(Self { id: None, algorithm, pair })
    }

    /// Sets the key id, sent as `kid`.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The algorithm of the signatures.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// A signed token with these claims (RFC 7515, compact serialisation).
    ///
    /// # Errors
    /// When the claims cannot be serialised, or the system has no random numbers.
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, SigningKeyError> {
        let header = Header { alg: self.algorithm.name(), typ: "JWT", kid: self.id.as_deref() };
        let header = serde_json::to_vec(&header).map_err(SigningKeyError::Claims)?;
        let claims = serde_json::to_vec(claims).map_err(SigningKeyError::Claims)?;
        let [header, claims] = [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
        let mut token = format!("{header}.{claims}");
        let signature = self.signature(token.as_bytes())?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, SigningKeyError> {
        let random = SystemRandom::new();
        let failed = |_| SigningKeyError::Signature;
        match &self.pair {
            Pair::Ecdsa(pair) => {
                pair.sign(&random, message).map(|found| found.as_ref().to_vec()).map_err(failed)
            }
            Pair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

/// Omits the key material.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// The bytes of the first section with this label (RFC 7468).
fn section(pem: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
    let (text, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let text: String = text.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::super::key::Key;
    use super::super::token::Token;
    use super::*;
    use serde_json::{Value, json};

    use ring::signature::KeyPair;

    fn pem(label: &str, der: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64_STANDARD.encode(der))
    }

    fn new_pem(algorithm: Algorithm) -> String {
        let random = SystemRandom::new();
        let der = match algorithm {
            Algorithm::Es256 => {
                EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            }
            Algorithm::Es384 => {
                EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P384_SHA384_FIXED_SIGNING, &random)
            }
            _ => Ed25519KeyPair::generate_pkcs8(&random),
        };
        pem("PRIVATE KEY", der.unwrap().as_ref())
    }

    fn public_jwk(key: &SigningKey) -> Value {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match &key.pair {
            Pair::Ecdsa(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if key.algorithm == Algorithm::Es256 { "P-256" } else { "P-384" };
                json!({ "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) })
            }
            Pair::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) })
            }
            Pair::Rsa(..) => unreachable!("ring generates no RSA keys"),
        }
    }

    #[track_caller]
    fn check(algorithm: Algorithm) {
        let key = SigningKey::from_pem(algorithm, &new_pem(algorithm)).unwrap().with_id("a");
        let token = key.sign(&json!({ "sub": "b" })).unwrap();
        let token = Token::parse(token.as_bytes(), 4_096).unwrap();
        assert_eq!((token.algorithm, token.key_id.as_deref()), (algorithm, Some("a")));
        let public = Key::from_jwk(&public_jwk(&key).to_string()).unwrap();
        assert_eq!(token.verified_claims(&public).unwrap(), br#"{"sub":"b"}"#);
        assert!(!format!("{key:?}").contains("pair"));
    }

    #[test]
    fn signs_tokens() {
        check(Algorithm::Es256);
        check(Algorithm::Es384);
        check(Algorithm::EdDsa);
    }

    #[track_caller]
    fn check_refused(algorithm: Algorithm, pem: &str, expected: &str) {
        let error = SigningKey::from_pem(algorithm, pem).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn refuses_other_keys() {
        let p256 = new_pem(Algorithm::Es256);
        check_refused(Algorithm::Es384, &p256, "not a valid private key for ES384");
        check_refused(Algorithm::Rs256, &p256, "not a valid private key for RS256");
        check_refused(Algorithm::Hs256, &p256, "not an algorithm with a private key");
        check_refused(Algorithm::Es256, "", "not a private key in PEM");
        check_refused(Algorithm::Es256, &pem("PUBLIC KEY", b"a"), "not a private key in PEM");
        check_refused(Algorithm::Es256, &pem("PRIVATE KEY", b"a"), "not a valid private key");
    }
}
