//! Valid and invalid tokens.

use serde_json::{Value, json};
use trunkline::Router;
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Keys};
use trunkline::http::Headers;
use trunkline::server::{self, ServerHandle};

use super::signer::{ALL, Signer, encode};
use super::{ask, call, guarded, now, serve_jwt, set, whoami};
use crate::support::{Client, Reply, post, post_with, serve_with};

const AUDIENCE: &str = "https://api.example";
const ISSUER: &str = "https://issuer.example";

/// The expected response.
#[derive(Clone, Copy)]
enum Expected {
    /// 200, with this principal.
    Served(&'static str),
    /// 401, with this reason. An empty reason is not sent.
    Refused(&'static str),
}

use Expected::{Refused, Served};

const INVALID: Expected = Refused("");
const MALFORMED: Expected = Refused("the token is malformed");
const EXPIRED: Expected = Refused("the token has expired");

#[track_caller]
fn check(name: &str, reply: &Reply, expected: Expected) {
    match expected {
        Served(principal) => {
            assert_eq!(reply.status, 200, "{name}: {reply:?}");
            assert_eq!(reply.json()["result"][0], principal, "{name}");
        }
        Refused(reason) => {
            assert_eq!(reply.status, 401, "{name}: {reply:?}");
            let error = &reply.json()["error"];
            assert_eq!(error["code"], -32007, "{name}");
            let (reason, description) = match reason {
                "" => ("the token is not valid", String::new()),
                reason => (reason, format!(", error_description=\"{reason}\"")),
            };
            assert_eq!(error["data"]["reason"], reason, "{name}");
            let challenge = format!("Bearer error=\"invalid_token\"{description}");
            assert_eq!(reply.header("www-authenticate"), Some(challenge.as_str()), "{name}");
            let text = String::from_utf8_lossy(&reply.body);
            for expected in [AUDIENCE, ISSUER] {
                assert!(!text.contains(expected), "{name}: {text} names {expected}");
            }
        }
    }
}

fn header(signer: &Signer, kid: &str) -> Value {
    json!({"alg": signer.algorithm.name(), "kid": kid})
}

fn claims() -> Value {
    json!({"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": now() + 300})
}

/// `value` with other members. Null removes a member.
fn but(mut value: Value, changes: Value) -> Value {
    for (name, change) in changes.as_object().unwrap() {
        match change {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            change => value[name] = change.clone(),
        }
    }
    value
}

fn settings() -> JwtConfig {
    JwtConfig {
        audiences: vec!["other".to_owned(), AUDIENCE.to_owned()],
        issuers: vec![ISSUER.to_owned()],
        ..Default::default()
    }
}

#[tokio::test]
async fn accepts_an_algorithm_only_with_its_own_key() {
    let signers = ALL.map(Signer::new);
    for signer in &signers {
        let keys = Keys::jwks(&set([signer.named_jwk("a")])).unwrap();
        let server = serve_jwt(keys, JwtConfig::default()).await;
        for other in &signers {
            let name = format!("{} for a key of {}", other.algorithm, signer.algorithm);
            let expected = if std::ptr::eq(other, signer) { Served("alice") } else { INVALID };
            check(&name, &ask(&server, &other.token("a")).await, expected);
        }
        // A valid signature, but another algorithm in the header.
        for algorithm in ALL.into_iter().filter(|algorithm| *algorithm != signer.algorithm) {
            let header = json!({"alg": algorithm.name(), "kid": "a"});
            let token = signer.sign(&header, &json!({"sub": "alice", "exp": now() + 60}));
            let name = format!("{} with the alg {algorithm}", signer.algorithm);
            check(&name, &ask(&server, &token).await, INVALID);
        }
    }
}

#[tokio::test]
async fn claims_of_tokens() {
    let signer = Signer::new(Algorithm::Es256);
    let keys = Keys::jwks(&set([signer.named_jwk("a")])).unwrap();
    let server = serve_jwt(keys, settings()).await;
    let now = now();
    let rows = [
        ("all is well", json!({}), Served("alice")),
        ("no subject", json!({"sub": null, "jti": "1"}), Served("jti:1")),
        ("a subject that is a number", json!({"sub": 1}), MALFORMED),
        ("expired", json!({"exp": now - 300}), EXPIRED),
        ("expired within the leeway", json!({"exp": now - 20}), Served("alice")),
        ("a fraction of a second", json!({"exp": now as f64 + 60.5}), Served("alice")),
        ("no expiry", json!({"exp": null}), INVALID),
        ("an expiry in text", json!({"exp": "2099-01-01"}), MALFORMED),
        ("a list of expiries", json!({"exp": [now + 60]}), MALFORMED),
        ("not yet", json!({"nbf": now + 90}), Refused("the token is not valid yet")),
        ("not yet, within the leeway", json!({"nbf": now + 30}), Served("alice")),
        ("issued in the future", json!({"iat": now + 120}), INVALID),
        ("issued now", json!({"iat": now}), Served("alice")),
        ("no issuer", json!({"iss": null}), INVALID),
        ("another issuer", json!({"iss": "https://evil.example"}), INVALID),
        ("almost the issuer", json!({"iss": format!("{ISSUER}.evil.example")}), INVALID),
        ("the issuer with a slash", json!({"iss": format!("{ISSUER}/")}), Served("alice")),
        ("the issuer with two slashes", json!({"iss": format!("{ISSUER}//")}), INVALID),
        ("no audience", json!({"aud": null}), INVALID),
        ("another audience", json!({"aud": "https://evil.example"}), INVALID),
        ("almost the audience", json!({"aud": format!("{AUDIENCE}.evil.example")}), INVALID),
        ("an empty audience", json!({"aud": ""}), INVALID),
        ("the audience in a list", json!({"aud": ["x", AUDIENCE]}), Served("alice")),
        ("the other audience", json!({"aud": "other"}), Served("alice")),
        ("a list of others", json!({"aud": ["x", "y"]}), INVALID),
        ("an empty list", json!({"aud": []}), INVALID),
        ("an audience that is a number", json!({"aud": 1}), MALFORMED),
    ];
    for (name, changes, expected) in rows {
        let token = signer.sign(&header(&signer, "a"), &but(claims(), changes));
        check(name, &ask(&server, &token).await, expected);
    }
    let with = |members: &str| {
        format!(r#"{{"exp":{},"iss":"{ISSUER}","aud":"{AUDIENCE}",{members}}}"#, now + 60)
    };
    for (name, members, expected) in [
        ("a duplicate expiry", r#""exp":9999999999"#, MALFORMED),
        ("a duplicate role", r#""role":"user","role":"admin""#, MALFORMED),
        ("the same, deeper", r#""a":[{"role":"user","role":"admin"}]"#, MALFORMED),
        ("the same, escaped", r#""role":"user","r\u006fle":"admin""#, MALFORMED),
        (
            "a role in two places",
            r#""sub":"ada","role":"user","a":{"role":"admin"}"#,
            Served("ada"),
        ),
    ] {
        let token = signer.sign_texts(&header(&signer, "a").to_string(), &with(members));
        check(name, &ask(&server, &token).await, expected);
    }
    for text in ["", "null", "[]", "{", "\u{feff}{}"] {
        let token = signer.sign_texts(&header(&signer, "a").to_string(), text);
        check(text, &ask(&server, &token).await, MALFORMED);
    }
}

#[tokio::test]
async fn headers_and_signatures_of_tokens() {
    let rsa = Signer::new(Algorithm::Rs256);
    let ec = Signer::new(Algorithm::Es256);
    let evil = Signer::new(Algorithm::Es256);
    let encrypting = Signer::new(Algorithm::Es384);
    let mut jwk = encrypting.named_jwk("enc");
    jwk["use"] = "enc".into();
    let keys = set([rsa.named_jwk("rsa"), ec.named_jwk("ec"), jwk]);
    let server = serve_jwt(Keys::jwks(&keys).unwrap(), settings()).await;

    let good = ec.sign(&header(&ec, "ec"), &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let join = |parts: [&str; 3]| parts.join(".");
    let other_claims = encode(but(claims(), json!({"sub": "mallory"})).to_string());
    let none = |alg: &str| format!("{}.{}.", encode(json!({"alg": alg}).to_string()), parts[1]);
    let mut tampered = parts[2].to_owned();
    let first = if tampered.starts_with('A') { "B" } else { "A" };
    tampered.replace_range(..1, first);
    let with = |signer: &Signer, header: Value| signer.sign(&header, &claims());
    let forged = |secret: &[u8]| {
        let forger = Signer::with_secret(Algorithm::Hs256, secret);
        with(&forger, json!({"alg": "HS256", "kid": "rsa"}))
    };
    let n = rsa.jwk()["n"].as_str().unwrap().to_owned();
    let long_header = json!({"alg": "ES256", "kid": "ec", "x": "x".repeat(16 << 10)});
    let ec_header = |changes: Value| but(header(&ec, "ec"), changes);

    let rows = [
        ("all is well", good.clone(), Served("alice")),
        ("none", none("none"), INVALID),
        ("None", none("None"), INVALID),
        ("nOnE", none("nOnE"), INVALID),
        (
            "none, with the key's name",
            {
                let head = encode(json!({"alg": "none", "kid": "ec"}).to_string());
                format!("{head}.{}.", parts[1])
            },
            INVALID,
        ),
        ("the right alg, without a signature", join([parts[0], parts[1], ""]), INVALID),
        ("the public key as an HMAC secret, PEM", forged(rsa.pem.as_bytes()), INVALID),
        ("the same without its last line end", forged(rsa.pem.trim_end().as_bytes()), INVALID),
        ("the public key as an HMAC secret, modulus", forged(n.as_bytes()), INVALID),
        ("an unknown alg", with(&ec, ec_header(json!({"alg": "ES256K"}))), INVALID),
        ("an alg in lower case", with(&ec, ec_header(json!({"alg": "es256"}))), INVALID),
        ("no alg", with(&ec, json!({"kid": "ec"})), MALFORMED),
        ("an alg that is a list", with(&ec, ec_header(json!({"alg": ["ES256"]}))), MALFORMED),
        (
            "a duplicate alg",
            ec.sign_texts(r#"{"alg":"none","alg":"ES256","kid":"ec"}"#, &claims().to_string()),
            MALFORMED,
        ),
        (
            "a duplicate member",
            ec.sign_texts(r#"{"alg":"ES256","kid":"ec","x":1,"x":2}"#, &claims().to_string()),
            MALFORMED,
        ),
        ("an unknown kid", with(&ec, ec_header(json!({"kid": "x"}))), INVALID),
        ("the kid of another key", with(&ec, ec_header(json!({"kid": "rsa"}))), INVALID),
        ("an empty kid", with(&ec, ec_header(json!({"kid": ""}))), INVALID),
        ("a kid that is a path", with(&ec, ec_header(json!({"kid": "../../dev/null"}))), INVALID),
        ("a kid that is a number", with(&ec, ec_header(json!({"kid": 1}))), MALFORMED),
        ("no kid, one key fits", with(&ec, json!({"alg": "ES256"})), Served("alice")),
        ("another key", with(&evil, header(&evil, "ec")), INVALID),
        (
            "another key, embedded",
            with(&evil, json!({"alg": "ES256", "kid": "ec", "jwk": evil.jwk()})),
            INVALID,
        ),
        (
            "another key, embedded, without kid",
            with(&evil, json!({"alg": "ES256", "jwk": evil.jwk()})),
            INVALID,
        ),
        (
            "another key, at a URL",
            with(
                &evil,
                json!({"alg": "ES256", "kid": "ec", "jku": "http://h/", "x5u": "http://h/"}),
            ),
            INVALID,
        ),
        (
            "an embedded key is ignored",
            with(&ec, ec_header(json!({"jwk": evil.jwk()}))),
            Served("alice"),
        ),
        ("a key for encryption", with(&encrypting, header(&encrypting, "enc")), INVALID),
        ("crit", with(&ec, ec_header(json!({"crit": ["exp"]}))), INVALID),
        ("an unknown crit", with(&ec, ec_header(json!({"crit": ["x"], "x": 1}))), INVALID),
        ("an empty crit", with(&ec, ec_header(json!({"crit": []}))), INVALID),
        ("other claims", join([parts[0], &other_claims, parts[2]]), INVALID),
        ("another signature", join([parts[0], parts[1], &tampered]), INVALID),
        ("half a signature", join([parts[0], parts[1], &parts[2][..40]]), INVALID),
        ("a signature of zeros", join([parts[0], parts[1], &encode([0; 64])]), INVALID),
        ("two parts", format!("{}.{}", parts[0], parts[1]), MALFORMED),
        ("four parts", format!("{good}.x"), MALFORMED),
        ("five parts, as if encrypted", format!("{good}.x.x"), MALFORMED),
        ("only dots", "..".to_owned(), MALFORMED),
        ("padding", join([parts[0], parts[1], &format!("{}==", parts[2])]), MALFORMED),
        ("base64 of the other alphabet", join(["+/+/", parts[1], parts[2]]), MALFORMED),
        ("a header with invalid JSON", join([&encode("x"), parts[1], parts[2]]), MALFORMED),
        ("not a token", "secret".to_owned(), MALFORMED),
        (
            "maximum length",
            with(&ec, but(header(&ec, "ec"), json!({"x": "x".repeat(11 << 10)}))),
            Served("alice"),
        ),
        ("over the maximum length", with(&ec, long_header), MALFORMED),
        ("very long", "x".repeat(100 << 10), MALFORMED),
    ];
    for (name, token, expected) in rows {
        check(name, &ask(&server, &token).await, expected);
    }
}

#[tokio::test]
async fn tries_all_matching_keys() {
    let [one, other, third] = [(); 3].map(|()| Signer::new(Algorithm::EdDsa));
    let rsa = Signer::new(Algorithm::Rs256);
    let nameless = |signer: &Signer| {
        signer.sign(&json!({"alg": signer.algorithm.name()}), &but(claims(), json!({})))
    };
    let [a, b, c] = [one.named_jwk("a"), other.named_jwk("b"), rsa.named_jwk("c")];
    let rows = [
        ("two fit", set([a.clone(), b.clone(), c.clone()]), nameless(&one), Served("alice")),
        ("the other", set([a.clone(), b.clone(), c.clone()]), nameless(&other), Served("alice")),
        ("none of two", set([a.clone(), b.clone(), c.clone()]), nameless(&third), INVALID),
        ("one fits", set([a.clone(), c.clone()]), nameless(&one), Served("alice")),
        ("the one that fits is another", set([b.clone(), c.clone()]), nameless(&one), INVALID),
        (
            "two with one id",
            set([a.clone(), other.named_jwk("a")]),
            other.token("a"),
            Served("alice"),
        ),
        ("the id of another key", set([a.clone(), b.clone()]), other.token("a"), INVALID),
        ("a key without an id", set([one.jwk(), c]), one.token("any"), Served("alice")),
        ("two of them", set([one.jwk(), other.jwk()]), other.token("any"), Served("alice")),
        (
            "the named one goes first",
            set([a.clone(), other.jwk()]),
            one.token("a"),
            Served("alice"),
        ),
        ("and is the only one", set([a, other.jwk()]), other.token("a"), INVALID),
        ("the eighth", nameless_keys(7, &one), nameless(&one), Served("alice")),
        ("the ninth", nameless_keys(8, &one), nameless(&one), INVALID),
    ];
    for (name, keys, token, expected) in rows {
        let server = serve_jwt(Keys::jwks(&keys).unwrap(), JwtConfig::default()).await;
        check(name, &ask(&server, &token).await, expected);
    }
}

/// A set of keys without ids, whose last key is that of `last`.
fn nameless_keys(others: usize, last: &Signer) -> String {
    let others = (0..others).map(|_| Signer::new(last.algorithm).jwk());
    set(others.chain([last.jwk()]))
}

/// Header lines of requests to a server with both kinds of tokens, and the results.
#[tokio::test]
async fn accepts_signed_and_listed_tokens() {
    let signer = Signer::new(Algorithm::Hs256);
    let jwt = Jwt::new(Keys::jwks(&set([signer.jwk()])).unwrap(), JwtConfig::default());
    let mut http = guarded(jwt);
    http.bearer.allow("one");
    http.bearer.allow_as("backup", "two");
    http.bearer.allow_as("bearer-4", "four");
    http.bearer.allow("five");
    http.bearer.allow("six");
    let server = serve_with(whoami().http_with(http), server::ServerConfig::default()).await;
    let token = signer.token("a");
    let rows = [
        ("signed", format!("Authorization: Bearer {token}\r\n"), Ok("alice")),
        ("lower case", format!("authorization: bearer {token}\r\n"), Ok("alice")),
        ("capitals and blanks", format!("AUTHORIZATION: BEARER   {token} \r\n"), Ok("alice")),
        ("listed", "Authorization: Bearer one\r\n".to_owned(), Ok("bearer-1")),
        ("listed with a name", "Authorization: Bearer two\r\n".to_owned(), Ok("backup")),
        ("a default name", "Authorization: Bearer four\r\n".to_owned(), Ok("bearer-4")),
        ("listed after it", "Authorization: Bearer five\r\n".to_owned(), Ok("bearer-5")),
        ("and the next", "Authorization: Bearer six\r\n".to_owned(), Ok("bearer-6")),
        ("neither", "Authorization: Bearer three\r\n".to_owned(), Err(true)),
        ("none", String::new(), Err(false)),
        ("another scheme", "Authorization: Basic b25lOg==\r\n".to_owned(), Err(false)),
        ("no token", "Authorization: Bearer \r\n".to_owned(), Err(false)),
        ("no scheme", format!("Authorization: {token}\r\n"), Err(false)),
        (
            "two headers",
            format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n"),
            Err(false),
        ),
        ("two tokens in one", format!("Authorization: Bearer one, Bearer {token}\r\n"), Err(true)),
        ("elsewhere", format!("X-Authorization: Bearer {token}\r\n"), Err(false)),
    ];
    for (name, lines, expected) in rows {
        let mut client = Client::connect(server.local_addr()).await;
        let reply = client.ask(post_with(&lines, call("whoami"))).await;
        match expected {
            Ok(principal) => check(name, &reply, Served(principal)),
            Err(true) => check(name, &reply, MALFORMED),
            Err(false) => {
                assert_eq!(reply.status, 401, "{name}");
                assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{name}");
            }
        }
    }
    let in_target = post(call("whoami"));
    let in_target = String::from_utf8(in_target).unwrap();
    let in_target = in_target.replacen(" / ", &format!(" /?access_token={token} "), 1);
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(in_target).await.status, 401, "a token in the target is ignored");
}

#[tokio::test]
async fn handlers_receive_the_claims() {
    let signer = Signer::new(Algorithm::EdDsa);
    let keys = Keys::jwks(&set([signer.named_jwk("a")])).unwrap();
    let server: ServerHandle = serve_jwt(keys, JwtConfig::default()).await;
    let claims = but(claims(), json!({"roles": ["a", "b"], "nested": {"x": 1.5}, "null": null}));
    let token = signer.sign(&header(&signer, "a"), &claims);
    let reply = ask(&server, &token).await.json();
    assert_eq!(reply["result"], json!(["alice", claims]));
}

/// `Debug` output, errors and the headers in handlers.
#[tokio::test]
async fn does_not_expose_secrets() {
    let signer = Signer::with_secret(Algorithm::Hs256, b"0123456789-0123456789-0123456789");
    let keys = Keys::jwks(&set([signer.jwk()])).unwrap();
    let jwt = Jwt::new(keys.clone(), JwtConfig::default());
    let mut http = guarded(jwt.clone());
    http.bearer.allow_as("backup", "s3cret");
    let principal = jwt.verify(&signer.token("a")).await.unwrap();
    let error = jwt.verify("s3cret.s3cret.s3cret").await.unwrap_err();
    let shown = format!("{keys:?} {jwt:?} {http:?} {principal:?} {error:?} {error}");
    for secret in ["0123456789", "MDEyMzQ1", "s3cret", "exp"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }

    // The headers in handlers.
    let headers = |headers: Headers| format!("{headers:?}");
    let rpc = Router::new().method("headers", headers).build().unwrap();
    let server = serve_with(rpc.http_with(http), server::ServerConfig::default()).await;
    let lines = "Authorization: Bearer s3cret\r\nProxy-Authorization: Basic s3cret\r\n\
                 Cookie: a=s3cret\r\nCookie: b=s3cret\r\nX-Shown: shown\r\n";
    let mut client = Client::connect(server.local_addr()).await;
    let shown = client.ask(post_with(lines, call("headers"))).await.json()["result"].to_string();
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("shown"), "{shown}");
}
