//! Keys that signatures are checked with.

use std::fmt;

use ring::{hmac, signature};

use super::algorithm::Algorithm;
use super::material::{KeyError, Material, Scheme};
use super::pem;

/// A key that tokens may be signed with, and the algorithms that it is for. No token can choose
/// another.
#[derive(Clone)]
pub struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    material: Material,
}

impl Key {
    /// A secret that the issuer of tokens has, too. At least as long as the algorithm's hash: 32, 48
    /// or 64 bytes.
    ///
    /// # Errors
    /// When `algorithm` is not HS256, HS384 or HS512, and when the secret is too short.
    pub fn secret(algorithm: Algorithm, secret: impl Into<Vec<u8>>) -> Result<Self, KeyError> {
        Self::new(None, vec![algorithm], Material::Secret(secret.into()))
    }

    /// A public key in PEM: `BEGIN PUBLIC KEY` (RSA, P-256, P-384, Ed25519) or `BEGIN RSA PUBLIC
    /// KEY`.
    ///
    /// # Errors
    /// When it is not one, or not one for `algorithm`.
    pub fn from_pem(algorithm: Algorithm, pem: &str) -> Result<Self, KeyError> {
        Self::new(None, vec![algorithm], pem::parse(pem)?)
    }

    /// The same key under a name. It is for tokens that name it, or no key; a key without a name is
    /// for tokens that name any that is not there. Where several keys fit, up to eight are tried.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Checks that the key is one for its algorithms.
    pub(super) fn new(
        id: Option<String>,
        algorithms: Vec<Algorithm>,
        material: Material,
    ) -> Result<Self, KeyError> {
        for algorithm in &algorithms {
            material.check(*algorithm)?;
        }
        Ok(Self { id, algorithms, material })
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    pub(super) fn is_secret(&self) -> bool {
        matches!(self.material, Material::Secret(_))
    }

    /// Whether `signature` is one of `message` by this key.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.is_for(algorithm) {
            return false;
        }
        match (&self.material, Scheme::of(algorithm)) {
            (Material::Secret(secret), Scheme::Hmac(hash)) => {
                hmac::verify(&hmac::Key::new(hash, secret), message, signature).is_ok()
            }
            (Material::Rsa { modulus: n, exponent: e }, Scheme::Rsa(parameters)) => {
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).is_ok()
            }
            (Material::Point(key) | Material::Ed25519(key), Scheme::Curve(scheme)) => {
                let key = signature::UnparsedPublicKey::new(scheme, key);
                key.verify(message, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Shows nothing of the key itself.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, algorithms, .. } = self;
        f.debug_struct("Key")
            .field("id", id)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}
