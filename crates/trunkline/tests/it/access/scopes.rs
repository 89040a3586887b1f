//! Declared and default scopes of operations, without a transport.

use serde_json::{Value, json};
use trunkline::access::{Principal, ScopeHierarchy, Scopes};
use trunkline::layers::authorize::{DefaultScopes, Rules, ScopedOperation, scope};
use trunkline::{DynamicOperations, Extensions, Operation, Router, Rpc, code};

use super::call;

fn purge() -> Operation {
    Operation::new("purge", || "purged").scopes(["files:write"])
}

fn with_scopes(scopes: &[&str]) -> Principal {
    Principal::new("ada").with_scopes(&Scopes::new(scopes.iter().copied()))
}

async fn handle(rpc: &Rpc, method: &str, mut from: Extensions, who: Option<Principal>) -> Value {
    if let Some(who) = who {
        from.insert(who);
    }
    let reply = rpc.handle(call(method).into(), from).await;
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

/// Claims of other names than those of the standard.
#[test]
fn other_claims_are_scopes_by_a_setting() {
    #[track_caller]
    fn check(settings: &[&str], claims: &Value, expected: bool) {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let claims = claims.as_object().unwrap().clone();
        let caller = Principal::signed("issuer", "ada").with_claims(claims.clone());
        let hierarchy = ScopeHierarchy::new([("files:all", "files:write")]);
        let caller = caller.with_scope_claims(&settings).with_scope_hierarchy(hierarchy);
        assert_eq!(caller.has_scope("files:write"), expected, "{settings:?} {claims:?}");
    }
    // Entra ID, for applications; Auth0; Keycloak; a namespace of Auth0.
    check(&["roles"], &json!({"roles": ["a", "files:write"]}), true);
    check(&["permissions"], &json!({"permissions": ["files:write"]}), true);
    check(&["permissions"], &json!({"permissions": "a files:write"}), true);
    check(&["realm_access.roles"], &json!({"realm_access": {"roles": ["files:write"]}}), true);
    let namespace = "https://example.com/roles";
    check(&[namespace], &json!({namespace: ["files:write"]}), true);
    check(&["roles", "permissions"], &json!({"permissions": ["files:write"]}), true);
    check(&["roles"], &json!({"scope": "files:write"}), true);
    check(&["roles"], &json!({"roles": ["files:all"]}), true);
    check(&[], &json!({"roles": ["files:write"]}), false);
    check(&["roles"], &json!({"permissions": ["files:write"]}), false);
    check(&["roles"], &json!({"roles": ["files:write:own", "xfiles:write"]}), false);
    check(&["roles"], &json!({"roles": [["files:write"], {"files:write": true}, 1]}), false);
    check(&["roles"], &json!({"roles": {"files:write": true}}), false);
    check(&["roles"], &json!({"roles": "a,files:write"}), false);
    check(&["roles"], &json!({}), false);
}

/// The declared scopes of an operation apply wherever it is.
#[tokio::test]
async fn declared_scopes_apply_in_all_routers() {
    let dynamic = DynamicOperations::new();
    dynamic.replace(Router::new().operation(purge())).unwrap();
    let rpc = Router::new()
        .operation(purge())
        .nest("nested", Router::new().operation(purge()))
        .merge(Router::new().dynamic("dynamic", &dynamic))
        .build()
        .unwrap();
    for replaced in [false, true] {
        if replaced {
            dynamic.replace(Router::new().operation(purge())).unwrap();
        }
        for method in ["purge", "nested.purge", "dynamic.purge"] {
            let rows = [
                (Some(with_scopes(&["files:write"])), None),
                (Some(with_scopes(&["files:read"])), Some(code::FORBIDDEN)),
                (Some(Principal::new("ada")), Some(code::FORBIDDEN)),
                (None, Some(code::UNAUTHENTICATED)),
            ];
            for (who, expected) in rows {
                let name = format!("{method} by {who:?}, replaced: {replaced}");
                let error = &handle(&rpc, method, Extensions::new(), who).await["error"];
                assert_eq!(error["code"].as_i64(), expected, "{name}");
                if expected.is_some() {
                    assert_eq!(error["data"]["scopes"], json!(["files:write"]), "{name}");
                }
            }
        }
    }
}

/// A parent process has no token, and needs none. Other callers without a principal are refused.
#[tokio::test]
async fn declared_scopes_are_not_required_over_stdio() {
    let rpc = Router::new().operation(purge()).build().unwrap();
    let rows = [
        ("stdio", None, None),
        ("mcp-stdio", None, None),
        ("stdio", Some(with_scopes(&["files:read"])), Some(code::FORBIDDEN)),
        ("stdio", Some(with_scopes(&["files:write"])), None),
        ("unix", None, Some(code::UNAUTHENTICATED)),
        ("mcp", None, Some(code::UNAUTHENTICATED)),
        ("json-rpc", None, Some(code::UNAUTHENTICATED)),
    ];
    for (endpoint, who, expected) in rows {
        let reply = handle(&rpc, "purge", Extensions::from_endpoint(endpoint), who.clone()).await;
        assert_eq!(reply["error"]["code"].as_i64(), expected, "{endpoint}, {who:?}");
        let nested = Extensions::from_endpoint(endpoint).for_nested_call("agent");
        let reply = handle(&rpc, "purge", nested, who.clone()).await;
        let expected = if who.is_none() { Some(code::UNAUTHENTICATED) } else { expected };
        assert_eq!(reply["error"]["code"].as_i64(), expected, "nested, {endpoint}, {who:?}");
    }
}

#[tokio::test]
async fn default_scopes_follow_the_effect() {
    let dynamic = DynamicOperations::new();
    let operations = || {
        Router::new()
            .operation(Operation::new("read", || 1).read_only())
            .operation(Operation::new("add", || 1).additive())
            .operation(Operation::new("delete", || 1).destructive())
            .operation(Operation::new("undeclared", || 1))
            .operation(Operation::new("own", || 1).read_only().scopes(["own"]))
    };
    dynamic.replace(operations()).unwrap();
    let default = DefaultScopes { read_only: Scopes::new(["r"]), others: Scopes::new(["w"]) };
    let rpc = operations()
        .dynamic("dynamic", &dynamic)
        .authorize(Rules::new().default_scopes(default))
        .build()
        .unwrap();
    let rows = [
        ("read", "r"),
        ("add", "w"),
        ("delete", "w"),
        ("undeclared", "w"),
        ("own", "own"),
        ("dynamic.read", "r"),
        ("dynamic.delete", "w"),
        ("dynamic.own", "own"),
    ];
    for (method, required) in rows {
        for granted in ["r", "w", "own"] {
            let reply =
                handle(&rpc, method, Extensions::new(), Some(with_scopes(&[granted]))).await;
            let expected = (granted != required).then_some(code::FORBIDDEN);
            assert_eq!(reply["error"]["code"].as_i64(), expected, "{method} with {granted}");
        }
    }
    let described = handle(&rpc, "rpc.discover", Extensions::new(), None).await;
    assert!(described["result"].is_object(), "descriptions require no scope: {described}");
}

#[tokio::test]
async fn broader_scopes_include_narrower_ones() {
    let hierarchy = ScopeHierarchy::new([
        ("admin", "write"),
        ("write", "read"),
        ("owner", "read"),
        // A cycle.
        ("a", "b"),
        ("b", "a"),
    ]);
    let rows = [
        ("read", "read", true),
        ("write", "read", true),
        ("admin", "read", true),
        ("owner", "read", true),
        ("owner", "write", false),
        ("read", "write", false),
        ("read", "admin", false),
        ("a", "b", true),
        ("b", "a", true),
        ("a", "c", false),
        ("a", "", false),
    ];
    for (granted, required, expected) in rows {
        let who = with_scopes(&[granted]).with_scope_hierarchy(hierarchy.clone());
        assert_eq!(who.has_scope(required), expected, "{granted} for {required}");
        let rpc = Router::new()
            .method("ping", || "pong")
            .authorize(Rules::new().require("*", scope(required)))
            .build()
            .unwrap();
        let reply = handle(&rpc, "ping", Extensions::new(), Some(who)).await;
        assert_eq!(reply["result"].is_string(), expected, "{granted} for {required}, by a rule");
    }
}
