//! Rules apply to all methods of a router, whenever and wherever they are registered, and before all work for a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use trunkline::access::{Principal, Scopes};
use trunkline::layers::authorize::{DefaultScopes, Role, Rules, authenticated, principal};
use trunkline::layers::rate_limit::Rate;
use trunkline::layers::{Next, RateLimitLayer, ValidateLayer, from_fn};
use trunkline::{
    BuildError, Call, DynamicNamespaces, DynamicOperations, Extensions, Operation, RawParams,
    Router, Rpc, code,
};

use super::{body, json_of};
use crate::support::in_time;

fn rules(pattern: &str) -> Rules {
    Rules::new().require(pattern, principal("root"))
}

fn inner() -> Router {
    Router::new().method("stop", || 1).authorize(rules("*"))
}

async fn reply(rpc: &Rpc, body: String, caller: Option<&str>) -> Value {
    let mut extensions = Extensions::new();
    if let Some(name) = caller {
        extensions.insert(Principal::new(name));
    }
    json_of(in_time("a reply", rpc.handle(body.into(), extensions)).await)
}

/// Checks the error codes of calls by no principal, by `ada` and by `root`. `None` is a result.
#[track_caller]
fn check(name: &str, router: fn() -> Router, method: &str, expected: [Option<i64>; 3]) {
    let runtime = super::paused();
    let callers = [None, Some("ada"), Some("root")];
    let found = callers.map(|caller| {
        let rpc = router().build().unwrap();
        runtime.block_on(reply(&rpc, body(method, 1), caller))["error"]["code"].as_i64()
    });
    assert_eq!(found, expected, "{name}: {method}");
}

const GUARDED: [Option<i64>; 3] = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), None];
const OPEN: [Option<i64>; 3] = [None; 3];
const UNKNOWN: Option<i64> = Some(code::METHOD_NOT_FOUND);
/// The codes of unknown methods whose names rules match.
const HIDDEN: [Option<i64>; 3] = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), UNKNOWN];

#[test]
fn rules_apply_whatever_the_order_of_registration() {
    let before = || Router::new().authorize(rules("stop")).method("stop", || 1).method("go", || 2);
    check("rules before methods", before, "stop", GUARDED);
    check("rules before methods", before, "go", OPEN);
    check("rules before methods", before, "rpc.discover", OPEN);

    let nested = || {
        let inner = Router::new().method("stop", || 1).method("go", || 2).authorize(rules("stop"));
        Router::new().nest("admin", inner).method("stop", || 3)
    };
    check("names in the nested router", nested, "admin.stop", GUARDED);
    check("names in the nested router", nested, "admin.go", OPEN);
    check("names in the nested router", nested, "stop", OPEN);
    check("names in the nested router", nested, "admin.nope", [UNKNOWN; 3]);

    let outer = || {
        let inner = Router::new().method("stop", || 1);
        Router::new().authorize(rules("admin.*")).nest("admin", inner)
    };
    check("names in the outer router", outer, "admin.stop", GUARDED);
    check("names in the outer router", outer, "admin.nope", HIDDEN);
    check("names in the outer router", outer, "nope", [UNKNOWN; 3]);

    let nested = || Router::new().method("go", || 2).nest("admin", inner());
    check("a namespace", nested, "admin.nope", HIDDEN);
    check("a namespace", nested, "nope", [UNKNOWN; 3]);
    let deep = || Router::new().nest("a", Router::new().nest("b", inner()));
    check("a namespace in another", deep, "a.b.nope", HIDDEN);
    check("a namespace in another", deep, "a.nope", [UNKNOWN; 3]);
    let merged = || Router::new().method("go", || 2).merge(inner());
    check("a merged router", merged, "stop", GUARDED);
    check("a merged router", merged, "nope", [UNKNOWN; 3]);

    let all = || Router::new().method("go", || 2).authorize(rules("*"));
    for method in ["go", "rpc.discover"] {
        check("all methods", all, method, GUARDED);
    }
    check("all methods", all, "nope", HIDDEN);
    let discover = || Router::new().method("go", || 2).authorize(rules("rpc.discover"));
    check("the method of the router itself", discover, "rpc.discover", GUARDED);

    let both = || {
        Router::new().method("stop", || 1).authorize(rules("*").require("stop", principal("ada")))
    };
    let neither = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), Some(code::FORBIDDEN)];
    check("all matching rules", both, "stop", neither);
}

/// Callers cannot find out by an error which methods exist.
#[test]
fn refusals_of_known_and_unknown_methods_are_equal() {
    #[track_caller]
    fn check(name: &str, rules: Rules, caller: Option<&str>, expected: i64) {
        let known = Operation::new("known", || 1).destructive();
        let rpc = Router::new().operation(known).authorize(rules).build().unwrap();
        let [known, unknown] = ["known", "nope0"].map(|method| {
            super::paused().block_on(reply(&rpc, body(method, 1), caller)).to_string()
        });
        assert!(known.contains(&format!("\"code\":{expected},")), "{name}: {known}");
        assert_eq!(unknown.replace("nope0", "known"), known, "{name}");
    }
    let (none, forbidden) = (code::UNAUTHENTICATED, code::FORBIDDEN);
    let all = || Rules::new().require("*", authenticated());
    check("a token", all(), None, none);
    check("a principal", rules("*"), Some("ada"), forbidden);
    let scopes = || DefaultScopes { others: Scopes::new(["write"]), ..Default::default() };
    check("scopes", Rules::new().default_scopes(scopes()), None, none);
    check("scopes and a token", all().default_scopes(scopes()), None, none);
    let role = |patterns: &[&str]| Role::new("reader", patterns.iter().copied());
    check("no role", Rules::new().role(role(&["db.*"])), Some("ada"), forbidden);
    let mut reader = role(&["*"]);
    reader.read_only = true;
    check("a role that only reads", Rules::new().role(reader), Some("ada"), forbidden);
}

/// A router whose operations `change`, also dynamic ones, have params that are validated, and the number of calls that its
/// layer has seen.
fn counted(rules: Rules) -> (Rpc, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let count = from_fn(move |call: Call, next: Next| {
        counter.fetch_add(1, Ordering::Relaxed);
        next.run(call)
    });
    let validated = || {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let change = Operation::new("change", |_: RawParams| "changed").input_schema(schema);
        Router::new().operation(change.strict_params()).layer(ValidateLayer::new())
    };
    let (tools, namespaces) = (DynamicOperations::new(), DynamicNamespaces::new());
    let rate = Rate { calls: 1, burst: 4, ..Rate::default() };
    let router = validated().dynamic("tool", &tools).dynamic_namespaces(&namespaces).layer(count);
    let router = router.authorize(rules).rate_limit(RateLimitLayer::new(rate));
    let rpc = router.build().unwrap();
    tools.replace(validated()).unwrap();
    namespaces.add("late").replace(validated()).unwrap();
    (rpc, seen)
}

/// A refused caller causes no work of layers, but its calls count for the rate limit.
#[test]
fn rules_are_checked_after_the_rate_limit_and_before_layers() {
    #[track_caller]
    fn check(method: &str, params: &str, caller: &str, expected: Option<i64>, layers: usize) {
        let (rpc, seen) = counted(rules("*"));
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let found = super::paused().block_on(async {
            let replies = reply(&rpc, format!("[{call},{call}]"), Some(caller)).await;
            let mut found = vec![replies[0]["error"]["code"].as_i64()];
            found.push(replies[1]["error"]["code"].as_i64());
            for _ in 0..3 {
                found.push(reply(&rpc, call.clone(), Some(caller)).await["error"]["code"].as_i64());
            }
            found
        });
        let mut codes = vec![expected; 4];
        codes.push(Some(code::RATE_LIMITED));
        assert_eq!(found, codes, "{method} by {caller}");
        assert_eq!(seen.load(Ordering::Relaxed), layers, "{method} by {caller}");
    }
    let long = format!(r#"{{"n":"{}"}}"#, "x".repeat(1 << 20));
    for params in [r#"{"n":1}"#, r#"{"n":"x"}"#, "[1,2]", &long] {
        for method in ["change", "tool.change", "late.change", "nope", "tool.nope"] {
            check(method, params, "ada", Some(code::FORBIDDEN), 0);
        }
        check("nope", params, "root", UNKNOWN, 4);
    }
    for method in ["change", "tool.change", "late.change"] {
        check(method, r#"{"n":1}"#, "root", None, 4);
        check(method, r#"{"n":"x"}"#, "root", Some(code::INVALID_PARAMS), 4);
    }
}

#[test]
fn rejects_rules_that_match_no_method() {
    let nested = Router::new().method("stop", || 1).authorize(rules("halt"));
    for (pattern, router) in [
        ("admn.*", Router::new().method("admin.stop", || 1).authorize(rules("admn.*"))),
        ("admin.stop", Router::new().method("stop", || 1).authorize(rules("admin.stop"))),
        ("halt", Router::new().method("halt", || 1).nest("admin", nested)),
    ] {
        match router.build() {
            Err(BuildError::UnmatchedRule { pattern: found, .. }) => assert_eq!(found, pattern),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}
