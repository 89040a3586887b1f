//! A token issuer with one key.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair,
    RsaPublicKeyComponents,
};
use ring::{digest, hmac};
use serde_json::{Value, json};
use trunkline::access::jwt::Algorithm;

pub(crate) struct Signer {
    pub(crate) algorithm: Algorithm,
    secret: Secret,
    /// The public half, in PEM.
    pub(crate) pem: String,
}

enum Secret {
    Hmac(Vec<u8>),
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

pub(crate) const ALL: [Algorithm; 12] = [
    Algorithm::Hs256,
    Algorithm::Hs384,
    Algorithm::Hs512,
    Algorithm::Rs256,
    Algorithm::Rs384,
    Algorithm::Rs512,
    Algorithm::Ps256,
    Algorithm::Ps384,
    Algorithm::Ps512,
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::EdDsa,
];

impl Signer {
    /// A signer with a new key. The RSA key is fixed, since generating one is slow.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        use Algorithm::{EdDsa, Es256, Es384, Hs256, Hs384, Hs512};

        let (secret, pem) = match algorithm {
            Hs256 | Hs384 | Hs512 => (Secret::Hmac(random()), String::new()),
            Es256 => ec(&PKCS_ECDSA_P256_SHA256, &signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Es384 => ec(&PKCS_ECDSA_P384_SHA384, &signature::ECDSA_P384_SHA384_FIXED_SIGNING),
            EdDsa => {
                let key = rcgen::KeyPair::generate_for(&PKCS_ED25519).unwrap();
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.serialized_der());
                (Secret::Ed25519(pair.unwrap()), key.public_key_pem())
            }
            _ => {
                let pair = RsaKeyPair::from_der(include_bytes!("../../data/keys/rsa_2048.der"));
                let pem = include_str!("../../data/keys/rsa_2048.pem").to_owned();
                (Secret::Rsa(Box::new(pair.unwrap())), pem)
            }
        };
        Self { algorithm, secret, pem }
    }

    /// A signer by HMAC with these bytes.
    pub(crate) fn with_secret(algorithm: Algorithm, secret: &[u8]) -> Self {
        Self { algorithm, secret: Secret::Hmac(secret.to_vec()), pem: String::new() }
    }

    /// The JSON Web Key that verifies the signatures, without `kid` and `use`.
    pub(crate) fn jwk(&self) -> Value {
        match &self.secret {
            Secret::Hmac(secret) => json!({"kty": "oct", "k": encode(secret)}),
            Secret::Rsa(pair) => {
                let RsaPublicKeyComponents { n, e } =
                    RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": encode(n), "e": encode(e)})
            }
            Secret::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let crv = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": crv, "x": encode(x), "y": encode(y)})
            }
            Secret::Ed25519(pair) => {
                let x = encode(pair.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "x": x})
            }
        }
    }

    /// The same, as issuers publish it.
    pub(crate) fn named_jwk(&self, id: &str) -> Value {
        let mut jwk = self.jwk();
        jwk["kid"] = id.into();
        jwk["alg"] = self.algorithm.name().into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// A token with this header and these claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_texts(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn sign_texts(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = encode(self.signature(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// A token that is valid for a minute, with a standard header.
    pub(crate) fn token(&self, id: &str) -> String {
        let header = json!({"alg": self.algorithm.name(), "kid": id, "typ": "JWT"});
        self.sign(&header, &json!({"sub": "alice", "exp": super::now() + 60}))
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.secret {
            Secret::Hmac(secret) => {
                let algorithm = match self.algorithm {
                    Algorithm::Hs384 => hmac::HMAC_SHA384,
                    Algorithm::Hs512 => hmac::HMAC_SHA512,
                    _ => hmac::HMAC_SHA256,
                };
                hmac::sign(&hmac::Key::new(algorithm, secret), message).as_ref().to_vec()
            }
            Secret::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(self.encoding(), &random, message, &mut signature).unwrap();
                signature
            }
            Secret::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Secret::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    fn encoding(&self) -> &'static dyn RsaEncoding {
        match self.algorithm {
            Algorithm::Rs256 => &signature::RSA_PKCS1_SHA256,
            Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
            Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
            Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
            Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
            _ => &signature::RSA_PSS_SHA256,
        }
    }
}

fn ec(
    kind: &'static rcgen::SignatureAlgorithm,
    algorithm: &'static EcdsaSigningAlgorithm,
) -> (Secret, String) {
    let key = rcgen::KeyPair::generate_for(kind).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.serialized_der(), &SystemRandom::new());
    (Secret::Ec(pair.unwrap()), key.public_key_pem())
}

/// 64 bytes.
fn random() -> Vec<u8> {
    let seed: [u8; 32] = ring::rand::generate(&SystemRandom::new()).unwrap().expose();
    digest::digest(&digest::SHA512, &seed).as_ref().to_vec()
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
