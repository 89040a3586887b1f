//! Public keys in PEM (RFC 7468): SubjectPublicKeyInfo (RFC 5280).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::algorithm::Algorithm;
use super::key::{Key, KeyError, Material};

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// The DER encoding of AlgorithmIdentifiers, without the tag and length of the sequence.
const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";
const ED25519: &[u8] = b"\x06\x03\x2b\x65\x70";

impl Key {
    /// Parses a public key in PEM: `BEGIN PUBLIC KEY`, for RSA, P-256, P-384 or Ed25519.
    ///
    /// # Errors
    /// When the text is not such a key, or the key does not match `algorithm`.
    pub fn from_pem(algorithm: Algorithm, pem: &str) -> Result<Self, KeyError> {
        Self::new(None, vec![algorithm], parse(pem)?)
    }
}

fn parse(pem: &str) -> Result<Material, KeyError> {
    if pem.contains("PRIVATE KEY-----") {
        return Err(KeyError::Private);
    }
    let (_, rest) = pem.split_once("-----BEGIN PUBLIC KEY-----").ok_or(KeyError::Pem)?;
    let (text, _) = rest.split_once("-----END PUBLIC KEY-----").ok_or(KeyError::Pem)?;
    let text: String = text.split_ascii_whitespace().collect();
    let der = BASE64_STANDARD.decode(text).map_err(|_| KeyError::Pem)?;
    public_key_info(&der).ok_or(KeyError::Unsupported)
}

fn public_key_info(der: &[u8]) -> Option<Material> {
    let info = whole(SEQUENCE, der)?;
    let (algorithm, rest) = value(SEQUENCE, info)?;
    // A key has no unused bits at its end.
    let key = whole(BIT_STRING, rest)?.strip_prefix(&[0])?;
    match algorithm {
        RSA => rsa_public_key(key),
        P256 | P384 => key.starts_with(&[4]).then(|| Material::Point(key.to_vec())),
        ED25519 => Some(Material::Ed25519(key.to_vec())),
        _ => None,
    }
}

fn rsa_public_key(der: &[u8]) -> Option<Material> {
    let (modulus, rest) = value(INTEGER, whole(SEQUENCE, der)?)?;
    let exponent = whole(INTEGER, rest)?;
    let [modulus, exponent] = [modulus, exponent].map(|number| {
        // A leading zero keeps a number whose highest bit is set from being negative.
        number.strip_prefix(&[0]).unwrap_or(number).to_vec()
    });
    Some(Material::Rsa { modulus, exponent })
}

/// The value, if `der` contains exactly one.
fn whole(tag: u8, der: &[u8]) -> Option<&[u8]> {
    value(tag, der).and_then(|(value, rest)| rest.is_empty().then_some(value))
}

/// The first value of `der` and the remaining bytes (X.690, section 8.1).
fn value(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        // Keys are smaller than 64 KiB.
        0x81 | 0x82 => {
            let (length, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (length.iter().fold(0, |all, byte| all << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
