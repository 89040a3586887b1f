//! Key formats: PEM, JSON Web Keys, and key sets.

use std::error::Error;

use serde_json::{Value, json};
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Key, KeyError, Keys};

use super::set;
use super::signer::{ALL, Signer, encode};

/// Whether a key verifies the signatures of `signer`.
async fn verifies(key: Key, signer: &Signer) -> bool {
    let jwt = Jwt::new(Keys::fixed([key]), JwtConfig::default());
    jwt.verify(&signer.token("a")).await.is_ok()
}

#[tokio::test]
async fn reads_public_keys_in_pem() {
    for algorithm in ALL.into_iter().skip(3) {
        let signer = Signer::new(algorithm);
        let key = Key::from_pem(algorithm, &signer.pem);
        let key = key.unwrap_or_else(|error| panic!("{algorithm}: {error}"));
        assert!(verifies(key, &signer).await, "{algorithm}");
        // Text around the key, and CRLF.
        let text = format!("# a comment\n{}\n", signer.pem).replace('\n', "\r\n");
        assert!(verifies(Key::from_pem(algorithm, &text).unwrap(), &signer).await, "{algorithm}");
    }
}

#[test]
fn rejects_invalid_pem() {
    let [rsa, p256, ed] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa]
        .map(|algorithm| Signer::new(algorithm).pem);
    let cut = rsa.replacen("MIIB", "MIIC", 1);
    let broken = rsa.replacen("-----END", "", 1);
    let letters = "-----BEGIN PUBLIC KEY-----\n!!!\n-----END PUBLIC KEY-----\n";
    let empty = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n";
    let private = "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n";
    let certificate = "-----BEGIN CERTIFICATE-----\nMC4=\n-----END CERTIFICATE-----\n";
    let pkcs1 = "-----BEGIN RSA PUBLIC KEY-----\nMC4=\n-----END RSA PUBLIC KEY-----\n";
    let weak = include_str!("../../data/keys/rsa_1024.pem");
    let rows = [
        ("nothing", Algorithm::Rs256, "", KeyError::Pem),
        ("no end", Algorithm::Rs256, &broken, KeyError::Pem),
        ("invalid base64", Algorithm::Rs256, letters, KeyError::Pem),
        ("empty", Algorithm::Rs256, empty, KeyError::Unsupported),
        ("another length", Algorithm::Rs256, &cut, KeyError::Unsupported),
        ("a private key", Algorithm::EdDsa, private, KeyError::Private),
        ("PKCS #1", Algorithm::Rs256, pkcs1, KeyError::Pem),
        ("a certificate", Algorithm::Rs256, certificate, KeyError::Pem),
        ("RSA for HS256", Algorithm::Hs256, &rsa, KeyError::Algorithm(Algorithm::Hs256)),
        ("RSA for ES256", Algorithm::Es256, &rsa, KeyError::Algorithm(Algorithm::Es256)),
        ("P-256 for ES384", Algorithm::Es384, &p256, KeyError::Algorithm(Algorithm::Es384)),
        ("P-256 for RS256", Algorithm::Rs256, &p256, KeyError::Algorithm(Algorithm::Rs256)),
        ("Ed25519 for ES256", Algorithm::Es256, &ed, KeyError::Algorithm(Algorithm::Es256)),
        ("1,024 bits", Algorithm::Rs256, weak, KeyError::RsaSize),
    ];
    for (name, algorithm, pem, expected) in rows {
        assert_eq!(Key::from_pem(algorithm, pem).unwrap_err(), expected, "{name}");
    }
}

#[test]
fn secrets() {
    for (algorithm, bytes) in
        [(Algorithm::Hs256, 32), (Algorithm::Hs384, 48), (Algorithm::Hs512, 64)]
    {
        assert!(Key::secret(algorithm, vec![7; bytes]).is_ok(), "{algorithm}");
        let error = Key::secret(algorithm, vec![7; bytes - 1]).unwrap_err();
        assert_eq!(error, KeyError::ShortSecret { algorithm, bytes });
    }
    let error = Key::secret(Algorithm::Rs256, vec![7; 64]).unwrap_err();
    assert_eq!(error, KeyError::Algorithm(Algorithm::Rs256));
}

/// The algorithms that keys without an `alg` are valid for.
#[tokio::test]
async fn json_web_keys_without_an_algorithm() {
    for algorithm in ALL {
        let signer = Signer::new(algorithm);
        let key = Key::from_jwk(&signer.jwk().to_string()).unwrap();
        assert!(verifies(key, &signer).await, "{algorithm}");
    }
    let secret = |bytes: usize| json!({"kty": "oct", "k": encode(vec![7; bytes])}).to_string();
    for (bytes, expected) in [(32, [true, false, false]), (48, [true, true, false])] {
        for (algorithm, expected) in ALL.into_iter().zip(expected) {
            let signer = Signer::with_secret(algorithm, &vec![7; bytes]);
            let key = Key::from_jwk(&secret(bytes)).unwrap();
            assert_eq!(verifies(key, &signer).await, expected, "{algorithm} of {bytes} bytes");
        }
    }
}

#[test]
fn rejects_unusable_json_web_keys() {
    let [rsa, ec, ed] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa]
        .map(|algorithm| Signer::new(algorithm).jwk());
    let with = |jwk: &Value, name: &str, value: Value| {
        let mut jwk = jwk.clone();
        jwk[name] = value;
        jwk.to_string()
    };
    let short = encode([7; 31]);
    let rows = [
        ("invalid JSON", "{".to_owned(), "invalid JSON Web Key"),
        ("no type", "{}".to_owned(), "invalid JSON Web Key"),
        ("a set", set([rsa.clone()]), "invalid JSON Web Key"),
        ("another type", r#"{"kty":"AKP"}"#.to_owned(), "unsupported"),
        ("another curve", with(&ec, "crv", json!("secp256k1")), "unsupported"),
        ("X25519", with(&ed, "crv", json!("X25519")), "unsupported"),
        ("another algorithm", with(&rsa, "alg", json!("RSA-OAEP")), "unsupported"),
        ("none", with(&rsa, "alg", json!("none")), "unsupported"),
        ("RSA for HS256", with(&rsa, "alg", json!("HS256")), "does not match the algorithm HS256"),
        ("P-256 for ES384", with(&ec, "alg", json!("ES384")), "does not match the algorithm ES384"),
        ("for encryption", with(&rsa, "use", json!("enc")), "`use`"),
        ("for signing only", with(&rsa, "key_ops", json!(["sign"])), "`use`"),
        ("a point on another curve", with(&ec, "crv", json!("P-384")), "malformed"),
        ("no coordinate", json!({"kty": "EC", "crv": "P-256", "x": ec["x"]}).to_string(), "malf"),
        ("a short coordinate", with(&ec, "x", json!(short)), "malformed"),
        ("a short key", with(&ed, "x", json!(short)), "malformed"),
        ("padding", with(&ed, "x", json!("AAAA====")), "malformed"),
        ("an even exponent", with(&rsa, "e", json!(encode([2]))), "malformed"),
        ("an exponent of one", with(&rsa, "e", json!(encode([1]))), "malformed"),
        ("no exponent", with(&rsa, "e", json!("")), "malformed"),
        ("a small modulus", with(&rsa, "n", json!(encode([7; 128]))), "2048 to 8192"),
        ("a huge modulus", with(&rsa, "n", json!(encode(vec![7; 2_048]))), "2048 to 8192"),
        ("a short secret", json!({"kty": "oct", "k": short}).to_string(), "at least 32 bytes"),
    ];
    for (name, jwk, expected) in rows {
        let error = Key::from_jwk(&jwk).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: no {expected:?} in {error:?}");
    }
}

#[tokio::test]
async fn sets_of_keys() {
    let signer = Signer::new(Algorithm::Es256);
    let rsa = Signer::new(Algorithm::Rs256).jwk();
    let useful = [json!({"kty": "AKP", "x": 1}), signer.jwk(), json!({"kty": "EC"})];
    let jwt = Jwt::new(Keys::jwks(&set(useful)).unwrap(), JwtConfig::default());
    assert!(jwt.verify(&signer.token("a")).await.is_ok(), "unsupported keys are skipped");
    for (name, text, expected) in [
        ("nothing", String::new(), "not a JSON Web Key Set"),
        ("one key", rsa.to_string(), "not a JSON Web Key Set"),
        ("a list", "[]".to_owned(), "not a JSON Web Key Set"),
        ("keys that are not a list", r#"{"keys":{}}"#.to_owned(), "not a JSON Web Key Set"),
        ("no keys", set([]), "no usable key among 0"),
        ("no usable key", set([json!({"kty": "AKP"}), json!(1)]), "no usable key among 2"),
    ] {
        let error = Keys::jwks(&text).unwrap_err();
        let message =
            format!("{error} {}", error.source().map(ToString::to_string).unwrap_or_default());
        assert!(message.contains(expected), "{name}: no {expected:?} in {message:?}");
    }
}
