//! JSON Web Keys (RFC 7517) and the members of each key type (RFC 7518, section 6; RFC 8037).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::algorithm::Algorithm;
use super::key::{Key, KeyError, Material};

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
}

impl Key {
    /// Parses a JSON Web Key (RFC 7517). Its `alg` is the algorithm. Without `alg`, an RSA key verifies all
    /// RS and PS algorithms, and a secret verifies each HS algorithm for which it is long enough.
    ///
    /// # Errors
    /// When the text is not a valid key, or the key cannot verify signatures.
    pub fn from_jwk(json: &str) -> Result<Self, KeyError> {
        let jwk: Jwk = serde_json::from_str(json).map_err(|error| {
            // The message of serde_json may contain a secret value.
            KeyError::Jwk(format!("line {}, column {}", error.line(), error.column()))
        })?;
        jwk.key()
    }
}

impl Jwk {
    fn key(self) -> Result<Key, KeyError> {
        let operations = self.key_ops.as_deref();
        let verifies = operations.is_none_or(|all| all.iter().any(|one| one == "verify"));
        if !verifies || self.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return Err(KeyError::Use);
        }
        let (material, possible) = self.material()?;
        let algorithms = match &self.alg {
            Some(alg) => vec![Algorithm::named(alg).ok_or(KeyError::Unsupported)?],
            None => possible,
        };
        Key::new(self.kid, algorithms, material)
    }

    /// The key material and the algorithms it can be used with.
    fn material(&self) -> Result<(Material, Vec<Algorithm>), KeyError> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("oct", _) => {
                let secret = bytes(self.k.as_deref())?;
                // RFC 7518, section 3.2. A secret that is too short for every algorithm is refused for HS256.
                let count = (secret.len() / 16).saturating_sub(1).clamp(1, 3);
                Ok((Material::Secret(secret), Algorithm::HMAC[..count].to_vec()))
            }
            ("RSA", _) => {
                let [modulus, exponent] = [&self.n, &self.e].map(|number| {
                    let bytes = bytes(number.as_deref())?;
                    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                    Ok(bytes[zeros..].to_vec())
                });
                let material = Material::Rsa { modulus: modulus?, exponent: exponent? };
                Ok((material, Algorithm::RSA.to_vec()))
            }
            ("EC", Some("P-256")) => Ok((self.point(32)?, vec![Algorithm::Es256])),
            ("EC", Some("P-384")) => Ok((self.point(48)?, vec![Algorithm::Es384])),
            ("OKP", Some("Ed25519")) => {
                Ok((Material::Ed25519(bytes(self.x.as_deref())?), vec![Algorithm::EdDsa]))
            }
            _ => Err(KeyError::Unsupported),
        }
    }

    fn point(&self, length: usize) -> Result<Material, KeyError> {
        let mut point = vec![4];
        for coordinate in [&self.x, &self.y] {
            let coordinate = bytes(coordinate.as_deref())?;
            if coordinate.len() != length {
                return Err(KeyError::Malformed);
            }
            point.extend(coordinate);
        }
        Ok(Material::Point(point))
    }
}

fn bytes(text: Option<&str>) -> Result<Vec<u8>, KeyError> {
    let text = text.ok_or(KeyError::Malformed)?;
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| KeyError::Malformed)
}
