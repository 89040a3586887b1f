//! Private keys of clients.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Key, Keys, SigningKey};

#[track_caller]
fn rsa_key(algorithm: Algorithm) -> SigningKey {
    let der = include_bytes!("../../data/keys/rsa_2048.der");
    let text = BASE64_STANDARD.encode(der);
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{text}\n-----END RSA PRIVATE KEY-----\n");
    SigningKey::from_pem(algorithm, &pem).unwrap()
}

#[tokio::test]
async fn rsa_keys_sign_tokens() {
    for algorithm in [
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
    ] {
        let claims = json!({ "sub": "client", "exp": super::now() + 60 });
        let token = rsa_key(algorithm).sign(&claims).unwrap();
        let public = include_str!("../../data/keys/rsa_2048.pem");
        let keys = Keys::fixed([Key::from_pem(algorithm, public).unwrap()]);
        let principal = Jwt::new(keys, JwtConfig::default()).verify(&token).await;
        assert!(principal.is_ok(), "{algorithm}: {principal:?}");
    }
}
