//! What keys are made of, and what is wrong with what is no key.

use ring::{hmac, signature};

use super::algorithm::Algorithm;

#[derive(Clone)]
pub(super) enum Material {
    Secret(Vec<u8>),
    /// Big-endian, without zeros before them.
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256 or P-384, by the algorithm.
    Point(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Why a text is no key that tokens are checked with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not a JSON Web Key.
    #[error("it is not a JSON Web Key: {0}")]
    Jwk(String),
    /// Not a public key in PEM.
    #[error("it is not a public key in PEM (`BEGIN PUBLIC KEY` or `BEGIN RSA PUBLIC KEY`)")]
    Pem,
    /// The private half was given.
    #[error("it is a private key: tokens are checked with the public one")]
    Private,
    /// The key is not for signatures.
    #[error("the key is not for checking signatures (`use` or `key_ops`)")]
    Use,
    /// The kind of key, its curve or its algorithm is not known here.
    #[error("keys of this type, curve or algorithm are not supported")]
    Unsupported,
    /// The key is of another type than its algorithm.
    #[error("the key is not one for {0}")]
    Algorithm(Algorithm),
    /// A number of the key is missing, or none that such a key can have.
    #[error("the key is malformed")]
    Malformed,
    /// A secret that is shorter than the hash (RFC 7518, section 3.2).
    #[error("a secret for {algorithm} has at least {bytes} bytes")]
    ShortSecret {
        /// What it is for.
        algorithm: Algorithm,
        /// How long it has to be.
        bytes: usize,
    },
    /// An RSA key of less than 2,048 bits or more than 8,192.
    #[error("an RSA key has 2,048 to 8,192 bits")]
    RsaSize,
}

impl Material {
    pub(super) fn check(&self, algorithm: Algorithm) -> Result<(), KeyError> {
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

/// How ring calls an algorithm.
pub(super) enum Scheme {
    Hmac(hmac::Algorithm),
    Rsa(&'static signature::RsaParameters),
    Curve(&'static dyn signature::VerificationAlgorithm),
}

impl Scheme {
    pub(super) fn of(algorithm: Algorithm) -> Self {
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
