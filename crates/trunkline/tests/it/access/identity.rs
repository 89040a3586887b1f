//! Identity of callers: listed names, subjects of issuers, and tokens without a subject.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Keys};
use trunkline::http::Peer;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::rate_limit::Rate;
use trunkline::{Extensions, Router, code};

use super::signer::Signer;
use super::{call, now, set};

#[tokio::test]
async fn identifies_subjects_by_issuer() {
    let signer = Signer::new(Algorithm::Hs256);
    let jwt = Jwt::new(Keys::jwks(&set([signer.jwk()])).unwrap(), JwtConfig::default());
    for (claims, issuer, name) in [
        (json!({"sub": "root", "iss": "https://a.example"}), "https://a.example", Some("root")),
        (json!({"sub": "root"}), "", Some("root")),
        (json!({"sub": "root", "jti": "1"}), "", Some("root")),
        (json!({"iss": "https://a.example"}), "https://a.example", None),
        (json!({}), "", None),
        (json!({"sub": ""}), "", None),
        (json!({"jti": "1"}), "", Some("jti:1")),
        (json!({"sub": "", "jti": "1"}), "", Some("jti:1")),
        (json!({"jti": ""}), "", None),
        (json!({"jti": 1}), "", None),
    ] {
        let mut signed = claims.clone();
        signed["exp"] = (now() + 60).into();
        let token = signer.sign(&json!({"alg": "HS256"}), &signed);
        let who = jwt.verify(&token).await.unwrap();
        let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let name = name.map_or(format!("sha256:{digest}"), str::to_owned);
        assert_eq!((who.issuer(), who.name()), (Some(issuer), &*name), "{claims}");
        assert_ne!(who, Principal::new(name).with_claims(who.claims().clone()), "{claims}");
    }
    assert_eq!(Principal::new("root").issuer(), None);
}

#[test]
fn owner_keys_of_subjects_and_tokens_differ() {
    let issuer = "https://a.example";
    let principals = [
        Principal::new("jti:1"),
        Principal::signed(issuer, "jti:1"),
        Principal::signed("", "jti:1"),
        Principal::anonymous(issuer, "jti:1"),
        Principal::anonymous(issuer, "jti:2"),
        Principal::anonymous("", "jti:1"),
    ];
    for (one, a) in principals.iter().enumerate() {
        for (other, b) in principals.iter().enumerate() {
            assert_eq!(a.owner_key() == b.owner_key(), one == other, "{a:?} {b:?}: {one} {other}");
        }
    }
    assert_eq!(Principal::signed(issuer, "").owner_key(), None);
}

/// Pairs of calls, which share a rate limit if they are of one caller.
#[tokio::test]
async fn limits_the_rate_of_each_identity() {
    let rate = Rate { calls: 1, per: Duration::from_secs(3_600), burst: 1, callers: 100 };
    let [a, b] = ["https://a.example", "https://b.example"];
    let anonymous = |issuer: &str, token: &str| Principal::anonymous(issuer, token);
    let [near, far] = ["10.0.0.1:1", "10.0.0.2:1"];
    let rows = [
        ("listed", (Principal::new("ann"), near), (Principal::new("ann"), far), true),
        ("signed", (Principal::signed(a, "ann"), near), (Principal::signed(a, "ann"), far), true),
        ("both", (Principal::new("ann"), near), (Principal::signed(a, "ann"), near), false),
        ("no issuer", (Principal::new("ann"), near), (Principal::signed("", "ann"), near), false),
        (
            "issuers",
            (Principal::signed(a, "ann"), near),
            (Principal::signed(b, "ann"), near),
            false,
        ),
        ("a token", (anonymous(a, "1"), near), (anonymous(a, "1"), far), true),
        ("tokens", (anonymous(a, "1"), near), (anonymous(a, "2"), near), false),
        ("tokens of issuers", (anonymous(a, "1"), near), (anonymous(b, "1"), near), false),
        ("a subject", (anonymous(a, "1"), near), (Principal::signed(a, "1"), near), false),
        (
            "no identity, two addresses",
            (Principal::signed(a, ""), near),
            (Principal::signed(a, ""), far),
            false,
        ),
        (
            "no identity, one address",
            (Principal::signed(a, ""), near),
            (Principal::signed(b, ""), near),
            true,
        ),
    ];
    for (name, first, second, are_one) in rows {
        let layer = RateLimitLayer::new(rate);
        let rpc = Router::new().method("one", || 1).layer(layer).build().unwrap();
        for ((who, peer), is_refused) in [(first, false), (second, are_one)] {
            let mut extensions = Extensions::new();
            extensions.insert(who);
            extensions.insert(Peer(Some(peer.parse::<SocketAddr>().unwrap())));
            let reply = rpc.handle(call("one").into(), extensions).await.into_json().unwrap();
            let reply: Value = serde_json::from_slice(&reply).unwrap();
            let expected = is_refused.then_some(code::RATE_LIMITED);
            assert_eq!(reply["error"]["code"].as_i64(), expected, "{name}");
        }
    }
}
