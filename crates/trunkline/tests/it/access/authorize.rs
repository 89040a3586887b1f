//! Authorization of calls by rules.

use serde_json::{Map, Value, json};
use trunkline::access::{Claims, Principal};
use trunkline::layers::authorize::{
    Requirement, Rules, authenticated, claim, principal, scope, subject,
};
use trunkline::{Extensions, Router, Rpc, code};

use super::call;

/// A service with methods in two namespaces and one without, and a requirement for those that match `pattern`.
fn rpc(pattern: &str, requirement: Requirement) -> Rpc {
    Router::new()
        .method("admin.stop", || "stopped")
        .method("billing.total", || "42")
        .method("ping", || "pong")
        .authorize(Rules::new().require(pattern, requirement))
        .build()
        .unwrap()
}

fn alice(claims: &Value) -> Option<Principal> {
    let claims: Map<String, Value> = serde_json::from_value(claims.clone()).unwrap();
    Some(Principal::new("alice").with_claims(claims))
}

async fn handle(rpc: &Rpc, body: String, who: Option<Principal>) -> Value {
    let mut extensions = Extensions::new();
    if let Some(who) = who {
        extensions.insert(who);
    }
    let reply = rpc.handle(body.into(), extensions).await.into_json();
    reply.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap())
}

/// The error code of a call, if it fails.
async fn outcome(rpc: &Rpc, method: &str, who: Option<Principal>) -> Option<i64> {
    handle(rpc, call(method), who).await["error"]["code"].as_i64()
}

const DENIED: Option<i64> = Some(code::FORBIDDEN);

#[tokio::test]
async fn checks_requirements() {
    let admin = || claim("role", "admin");
    let deep = || claim("realm_access.roles", "admin");
    let dotted = || claim("https://a.example/roles", "admin");
    let rows = [
        ("a claim", admin(), json!({"role": "admin"}), None),
        ("one of a claim's values", admin(), json!({"role": ["user", "admin"]}), None),
        ("another value", admin(), json!({"role": "user"}), DENIED),
        ("other values", admin(), json!({"role": ["user"]}), DENIED),
        ("a part of a value", admin(), json!({"role": "admin user"}), DENIED),
        ("other capitals", admin(), json!({"role": "Admin"}), DENIED),
        ("no claim", admin(), json!({}), DENIED),
        ("null", admin(), json!({"role": null}), DENIED),
        ("an object", admin(), json!({"role": {"admin": "admin"}}), DENIED),
        ("an array in an array", admin(), json!({"role": [["admin"]]}), DENIED),
        ("the claim deeper", admin(), json!({"x": {"role": "admin"}}), DENIED),
        ("a path", deep(), json!({"realm_access": {"roles": ["admin"]}}), None),
        ("half a path", deep(), json!({"realm_access": "admin"}), DENIED),
        ("another path", deep(), json!({"realm_access": {"role": "admin"}}), DENIED),
        ("a name with dots", dotted(), json!({"https://a.example/roles": "admin"}), None),
        (
            "a path below a name with dots",
            claim("https://a.example/app.roles", "admin"),
            json!({"https://a.example/app": {"roles": "admin"}}),
            None,
        ),
        ("a number", claim("level", 3), json!({"level": 3}), None),
        ("a number as text", claim("level", 3), json!({"level": "3"}), DENIED),
        ("true", claim("verified", true), json!({"verified": true}), None),
        ("false", claim("verified", true), json!({"verified": false}), DENIED),
        ("a scope", scope("a"), json!({"scope": "a"}), None),
        ("one of several scopes", scope("a"), json!({"scope": "b a c"}), None),
        ("scopes in a list", scope("a"), json!({"scp": ["b", "a"]}), None),
        ("scopes in the other claim", scope("a"), json!({"scp": "b a"}), None),
        ("a part of a scope", scope("a"), json!({"scope": "ab b:a"}), DENIED),
        ("no scope", scope("a"), json!({}), DENIED),
        ("an empty scope", scope(""), json!({"scope": ""}), DENIED),
        ("a name", principal("alice"), json!({}), None),
        ("another name", principal("bob"), json!({"sub": "bob"}), DENIED),
        ("anybody", authenticated(), json!({}), None),
        ("one of two", scope("a").or(principal("alice")), json!({}), None),
        ("the other of two", scope("a").or(principal("bob")), json!({"scope": "a"}), None),
        ("none of two", scope("a").or(principal("bob")), json!({}), DENIED),
        ("both", scope("a").and(admin()), json!({"scope": "a", "role": "admin"}), None),
        ("one of both", scope("a").and(admin()), json!({"scope": "a"}), DENIED),
        ("the other of both", scope("a").and(admin()), json!({"role": "admin"}), DENIED),
    ];
    for (name, requirement, claims, expected) in rows {
        let rpc = rpc("admin.*", requirement);
        assert_eq!(outcome(&rpc, "admin.stop", alice(&claims)).await, expected, "{name}");
        assert_eq!(outcome(&rpc, "admin.stop", None).await, Some(code::UNAUTHENTICATED), "{name}");
        for (method, who) in [("ping", None), ("billing.total", alice(&claims))] {
            assert_eq!(outcome(&rpc, method, who).await, None, "{name}: {method} is free");
        }
    }
}

/// The name of a listed token, and the same name as the subject of signed tokens.
#[tokio::test]
async fn distinguishes_listed_names_from_subjects() {
    let listed = || Principal::new("root");
    let signed = || Principal::signed("https://a.example", "root");
    let no_issuer = || Principal::signed("", "root");
    let by_a = || subject("https://a.example", "root");
    let rows = [
        ("listed, as listed", principal("root"), listed(), None),
        ("signed, as listed", principal("root"), signed(), DENIED),
        ("signed without issuer, as listed", principal("root"), no_issuer(), DENIED),
        ("signed, as signed", by_a(), signed(), None),
        ("listed, as signed", by_a(), listed(), DENIED),
        ("signed without issuer, as signed", by_a(), no_issuer(), DENIED),
        ("another issuer", subject("https://b.example", "root"), signed(), DENIED),
        ("another subject", subject("https://a.example", "ann"), signed(), DENIED),
        ("no issuer, as required", subject("", "root"), no_issuer(), None),
        ("no issuer, listed", subject("", "root"), listed(), DENIED),
        ("no name", principal(""), Principal::new(""), DENIED),
        (
            "no subject",
            subject("https://a.example", ""),
            Principal::signed("https://a.example", ""),
            DENIED,
        ),
        (
            "a token like a subject",
            subject("https://a.example", "jti:1"),
            Principal::anonymous("https://a.example", "jti:1"),
            DENIED,
        ),
    ];
    for (name, requirement, who, expected) in rows {
        let rpc = rpc("admin.*", requirement);
        assert_eq!(outcome(&rpc, "admin.stop", Some(who)).await, expected, "{name}");
    }
}

#[tokio::test]
async fn matches_methods_by_pattern() {
    for (pattern, stop, total, ping) in [
        ("*", DENIED, DENIED, DENIED),
        ("admin.*", DENIED, None, None),
        ("admin.stop", DENIED, None, None),
        ("ping", None, None, DENIED),
    ] {
        let rpc = rpc(pattern, principal("bob"));
        for (method, expected) in [("admin.stop", stop), ("billing.total", total), ("ping", ping)] {
            let found = outcome(&rpc, method, alice(&json!({}))).await;
            assert_eq!(found, expected, "{pattern} on {method}");
        }
    }
}

#[tokio::test]
async fn requires_all_matching_rules() {
    let rpc = Router::new()
        .method("admin.stop", || "stopped")
        .authorize(
            Rules::new().require("*", scope("all")).require("admin.*", claim("role", "admin")),
        )
        .build()
        .unwrap();
    for (claims, expected) in [
        (json!({"scope": "all", "role": "admin"}), None),
        (json!({"scope": "all"}), DENIED),
        (json!({"role": "admin"}), DENIED),
    ] {
        assert_eq!(outcome(&rpc, "admin.stop", alice(&claims)).await, expected, "{claims}");
    }
}

#[tokio::test]
async fn a_refusal_does_not_name_the_requirements() {
    let rpc = rpc("admin.*", claim("role", "admin").or(scope("root")));
    let refused = handle(&rpc, call("admin.stop"), alice(&json!({"role": "user"}))).await;
    let data = json!({"reason": "the caller may not call this method"});
    let error = json!({"code": -32008, "message": "Forbidden", "data": data});
    assert_eq!(refused["error"], error);
    let refused = handle(&rpc, call("admin.stop"), None).await;
    assert_eq!(refused["error"], json!({"code": -32007, "message": "Unauthenticated"}));
}

#[tokio::test]
async fn checks_each_member_of_a_batch() {
    let rpc = rpc("admin.*", claim("role", "admin"));
    let batch = format!("[{},{}]", call("admin.stop"), call("ping"));
    let replies = handle(&rpc, batch, alice(&json!({}))).await;
    assert_eq!(replies[0]["error"]["code"], code::FORBIDDEN);
    assert_eq!(replies[1]["result"], "pong");
}

#[tokio::test]
async fn deserialises_claims() {
    #[derive(serde::Deserialize)]
    struct Tenant {
        tenant: String,
        level: Option<u8>,
    }

    let rpc = Router::new()
        .method("tenant", |Claims(Tenant { tenant, level }): Claims<Tenant>| (tenant, level))
        .method("who", |who: Option<Principal>| who.map(|who| who.name().to_owned()))
        .build()
        .unwrap();
    let rows = [
        ("all", json!({"tenant": "a", "level": 3, "more": []}), Ok(json!(["a", 3]))),
        ("required claims", json!({"tenant": "a"}), Ok(json!(["a", null]))),
        ("missing claim", json!({}), Err("token claims do not match: missing field `tenant`")),
        ("wrong type", json!({"tenant": 1}), Err("token claims do not match")),
        ("out of range", json!({"tenant": "a", "level": 256}), Err("token claims do not match")),
    ];
    for (name, claims, expected) in rows {
        let reply = handle(&rpc, call("tenant"), alice(&claims)).await;
        match expected {
            Ok(result) => assert_eq!(reply["result"], result, "{name}"),
            Err(reason) => {
                assert_eq!(reply["error"]["code"], code::FORBIDDEN, "{name}");
                assert_eq!(reply["error"]["data"], json!({"reason": reason}), "{name}");
            }
        }
    }
    assert_eq!(outcome(&rpc, "tenant", None).await, Some(code::UNAUTHENTICATED));
    assert_eq!(handle(&rpc, call("who"), None).await["result"], Value::Null);
    assert_eq!(handle(&rpc, call("who"), alice(&json!({}))).await["result"], "alice");
}
