//! Keys that verify signatures.

use std::fmt;

use ring::{hmac, signature};

use super::algorithm::Algorithm;

/// A key that verifies token signatures, and its algorithms. A token cannot select another algorithm.
#[derive(Clone)]
pub struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    material: Material,
}

impl Key {
    /// A secret shared with the issuer of the tokens. Minimum length: that of the algorithm's hash, which is
    /// 32, 48 or 64 bytes.
    ///
    /// # Errors
    /// When `algorithm` is not HS256, HS384 or HS512, or the secret is too short.
    pub fn secret(algorithm: Algorithm, secret: impl Into<Vec<u8>>) -> Result<Self, KeyError> {
        Self::new(None, vec![algorithm], Material::Secret(secret.into()))
    }

    /// Sets the key id. The key then verifies tokens with that `kid` or without `kid`. A key without an id
    /// also verifies tokens with an unknown `kid`. If several keys match a token, up to eight are tried.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Creates a key if the material is valid for its algorithms.
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

    /// Whether `signature` is a valid signature of `message`.
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

/// Omits the key material.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, algorithms, .. } = self;
        f.debug_struct("Key")
            .field("id", id)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(super) enum Material {
    Secret(Vec<u8>),
    /// Big-endian numbers without leading zeros.
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point on P-256 or P-384, depending on the algorithm.
    Point(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The error for a key that cannot verify tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not a JSON Web Key. The value is the position of the error.
    #[error("invalid JSON Web Key at {0}")]
    Jwk(String),
    /// The text is not a public key in PEM.
    #[error("not a public key in PEM (`BEGIN PUBLIC KEY`)")]
    Pem,
    /// The key is a private key.
    #[error("unexpected private key; tokens are verified with the public key")]
    Private,
    /// `use` or `key_ops` exclude the verification of signatures.
    #[error("`use` or `key_ops` do not allow the key to verify signatures")]
    Use,
    /// The key type, curve or algorithm is unknown.
    #[error("unsupported key type, curve or algorithm")]
    Unsupported,
    /// The key type does not match the algorithm.
    #[error("key type does not match the algorithm {0}")]
    Algorithm(Algorithm),
    /// A number of the key is missing or invalid.
    #[error("malformed key")]
    Malformed,
    /// The secret is shorter than the hash (RFC 7518, section 3.2).
    #[error("secret for {algorithm} must have at least {bytes} bytes")]
    ShortSecret {
        /// The algorithm.
        algorithm: Algorithm,
        /// The minimum length in bytes.
        bytes: usize,
    },
    /// The RSA key has less than 2,048 or more than 8,192 bits.
    #[error("RSA key must have 2048 to 8192 bits")]
    RsaSize,
}

impl Material {
    fn check(&self, algorithm: Algorithm) -> Result<(), KeyError> {
        use Algorithm::{EdDsa, Es256, Es384};

        match (self, Scheme::of(algorithm)) {
            (Self::Secret(secret), Scheme::Hmac(hash)) => {
                let bytes = hash.digest_algorithm().output_len();
                if secret.len() < bytes {
                    return Err(KeyError::ShortSecret { algorithm, bytes });
                }
            }
            (Self::Rsa { modulus, exponent }, Scheme::Rsa(_)) => {
                let leading = modulus.first().map_or(0, |byte| byte.leading_zeros() as usize);
                if !(2_048..=8_192).contains(&(modulus.len() * 8 - leading)) {
                    return Err(KeyError::RsaSize);
                }
                let is_odd = exponent.last().is_some_and(|byte| byte % 2 == 1);
                if !is_odd || exponent.as_slice() == [1] {
                    return Err(KeyError::Malformed);
                }
            }
            (Self::Point(point), _) if matches!(algorithm, Es256 | Es384) => {
                let length = if algorithm == Es256 { 65 } else { 97 };
                if point.len() != length {
                    return Err(KeyError::Algorithm(algorithm));
                }
            }
            (Self::Ed25519(key), _) if algorithm == EdDsa => {
                if key.len() != 32 {
                    return Err(KeyError::Malformed);
                }
            }
            _ => return Err(KeyError::Algorithm(algorithm)),
        }
        Ok(())
    }
}

/// The implementation of an algorithm in `ring`.
enum Scheme {
    Hmac(hmac::Algorithm),
    Rsa(&'static signature::RsaParameters),
    Curve(&'static dyn signature::VerificationAlgorithm),
}

impl Scheme {
    fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Hs256 => Self::Hmac(hmac::HMAC_SHA256),
            Algorithm::Hs384 => Self::Hmac(hmac::HMAC_SHA384),
            Algorithm::Hs512 => Self::Hmac(hmac::HMAC_SHA512),
            Algorithm::Rs256 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::Rs384 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::Rs512 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::Ps256 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::Ps384 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::Ps512 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Algorithm::Es256 => Self::Curve(&signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::Es384 => Self::Curve(&signature::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDsa => Self::Curve(&signature::ED25519),
        }
    }
}
