//! Roles, and rules that are replaced.

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::audit::DatabaseOperation;
use trunkline::layers::authorize::{
    PermittedDatabases, Role, Rules, SharedRules, is_visible_to, principal,
};
use trunkline::layers::rate_limit::Rate;
use trunkline::{Effect, Extensions, Operation, Pattern, RawParams, Router, Rpc, code};

fn rpc(rules: &SharedRules) -> Rpc {
    let list =
        |permitted: PermittedDatabases| format!("{} {}", permitted.has("A"), permitted.has("b"));
    let rates = rules.clone();
    Router::new()
        .operation(
            Operation::new("db.read", |_: RawParams| "rows").read_only().default_database("a"),
        )
        .operation(Operation::new("db.fixed", |_: RawParams| "rows").read_only().database("b"))
        .operation(Operation::new("db.change", |_: RawParams| "changed").destructive().effect_of(
            |params| match params.get("dry_run") {
                Some(Value::Bool(true)) => Effect::ReadOnly,
                _ => Effect::Destructive,
            },
        ))
        .operation(Operation::new("db.list", list).read_only())
        .authorize_shared(rules)
        .rate_limit(RateLimitLayer::by_caller(move |caller| rates.current().rate(caller)))
        .build()
        .unwrap()
}

async fn outcome(rpc: &Rpc, caller: Option<&str>, method: &str, params: &Value) -> Value {
    let mut extensions = Extensions::new();
    if let Some(name) = caller {
        extensions.insert(Principal::new(name));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let reply = rpc.handle(body.into(), extensions).await.into_json();
    reply.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap())
}

fn role(member: &str, operations: &[&str]) -> Role {
    let mut role = Role::new(member, operations.iter().copied());
    role.members = Some(principal(member));
    role
}

fn rules() -> Rules {
    let mut reader = role("reader", &["db.*"]);
    reader.read_only = true;
    reader.databases = Some(vec!["A".to_owned()]);
    let mut other = role("other", &["db.*"]);
    other.deny = vec![Pattern::new("db.change")];
    Rules::new().role(reader).role(other).role(Role::new("all", ["db.list"]))
}

#[tokio::test]
async fn roles_permit_methods_effects_and_databases() {
    let rpc = rpc(&rules().into());
    let rows = [
        (Some("reader"), "db.read", json!({}), true),
        (Some("reader"), "db.read", json!({"database": "a"}), true),
        (Some("reader"), "db.read", json!({"database": "b"}), false),
        (Some("reader"), "db.read", json!({"database": null}), true),
        (Some("reader"), "db.read", json!({"database": 1}), false),
        (Some("reader"), "db.read", json!([]), true),
        (Some("reader"), "db.read", json!([1]), false),
        (Some("reader"), "db.read", json!([[]]), false),
        (Some("reader"), "db.read", json!(["a"]), false),
        (Some("other"), "db.read", json!(["a"]), true),
        (Some("other"), "db.fixed", json!(["a"]), true),
        (Some("reader"), "db.fixed", json!({}), false),
        (Some("reader"), "db.fixed", json!({"database": "a"}), false),
        (Some("reader"), "db.change", json!({}), false),
        (Some("reader"), "db.change", json!({"dry_run": true}), true),
        (Some("other"), "db.read", json!({"database": "b"}), true),
        (Some("other"), "db.change", json!({"dry_run": true}), false),
        (Some("nobody"), "db.read", json!({}), false),
        (Some("nobody"), "db.list", json!({}), true),
        (None, "db.read", json!({}), false),
        (None, "db.list", json!({}), true),
        (None, "rpc.discover", json!({}), true),
    ];
    for (caller, method, params, is_permitted) in rows {
        let reply = outcome(&rpc, caller, method, &params).await;
        let expected = if is_permitted { Value::Null } else { code::FORBIDDEN.into() };
        assert_eq!(reply["error"]["code"], expected, "{caller:?} {method} {params}: {reply}");
    }
    // Of duplicates, the handler may read another one than the rules.
    for (method, params) in [
        ("db.read", r#"{"database":"a","database":"b"}"#),
        ("db.read", r#"{"database":"a","\u0064atabase":"a"}"#),
        ("db.change", r#"{"dry_run":true,"dry_run":false}"#),
        ("db.change", r#"{"dry_run":false,"dry_run":true}"#),
        ("db.change", r#"{"dry_run":true,"dry_run":true}"#),
        ("db.change", r#"{"dry_run":true,"nested":{"a":1,"a":2}}"#),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let mut extensions = Extensions::new();
        extensions.insert(Principal::new("reader"));
        let reply = rpc.handle(body.into(), extensions).await.into_json().unwrap();
        let reply: Value = serde_json::from_slice(&reply).unwrap();
        assert_eq!(reply["error"]["code"], code::FORBIDDEN, "{method} {params}: {reply}");
    }
}

#[tokio::test]
async fn lists_and_operations_reflect_roles() {
    let rpc = rpc(&rules().into());
    let visible = |caller: &str| {
        let (operations, caller) = (rpc.operations(), Principal::new(caller));
        let visible =
            operations.iter().filter(|one| is_visible_to(one.description(), Some(&caller)));
        visible.map(|one| one.name().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(visible("reader"), "db.read db.list rpc.discover");
    assert_eq!(visible("other"), "db.read db.fixed db.list rpc.discover");
    assert_eq!(visible("nobody"), "db.list rpc.discover");
    for (caller, expected) in [("other", "true true"), ("nobody", "true true")] {
        let reply = outcome(&rpc, Some(caller), "db.list", &json!({})).await;
        assert_eq!(reply["result"], expected, "{caller}");
    }
    let mut only_a = role("reader", &["db.*"]);
    only_a.databases = Some(vec!["a".to_owned()]);
    let rpc = self::rpc(&Rules::new().role(only_a).into());
    let reply = outcome(&rpc, Some("reader"), "db.list", &json!({})).await;
    assert_eq!(reply["result"], "true false");
}

#[tokio::test]
async fn replaced_rules_apply_to_later_calls() {
    // No call is permitted again because the test is slow.
    tokio::time::pause();
    let rules = SharedRules::default();
    let rpc = rpc(&rules);
    let code = async |caller: &str| {
        let reply = outcome(&rpc, Some(caller), "db.read", &json!({})).await;
        reply["error"]["code"].as_i64()
    };
    assert_eq!(code("reader").await, None);
    let rate = |calls, burst| Some(Rate { calls, burst, ..Rate::default() });
    let mut slow = role("reader", &["*"]);
    slow.rate = rate(1, 1);
    rules.replace(Rules::new().role(slow.clone()));
    assert_eq!(code("other").await, Some(code::FORBIDDEN));
    assert_eq!(code("reader").await, None);
    assert_eq!(code("reader").await, Some(code::RATE_LIMITED));
    // The highest rate counts, and the default one is that of callers without a rate.
    let mut fast = Role::new("all", ["*"]);
    fast.rate = rate(1_000_000, 1_000_000);
    rules.replace(Rules::new().role(slow).role(fast).default_rate(rate(1, 1)));
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    for _ in 0..10 {
        assert_eq!(code("reader").await, None);
    }
    rules.replace(Rules::new());
    assert_eq!(code("other").await, None);
}
