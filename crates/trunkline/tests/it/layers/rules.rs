//! Rules apply to all methods of a router, whenever and wherever they are registered.

use trunkline::access::Principal;
use trunkline::layers::authorize::{AuthorizeLayer, Rules, principal};
use trunkline::layers::{Next, from_fn};
use trunkline::{BuildError, Call, Router, code};

use crate::support::in_time;

fn rules(pattern: &str) -> Rules {
    Rules::new().require(pattern, principal("root"))
}

/// Sets the principal of all calls, if there is a caller.
fn by(router: Router, caller: Option<&'static str>) -> Router {
    router.layer(from_fn(move |mut call: Call, next: Next| {
        if let Some(name) = caller {
            call.extensions_mut().insert(Principal::new(name));
        }
        next.run(call)
    }))
}

/// Checks the error codes of calls by no principal, by `ada` and by `root`. `None` is a result.
#[track_caller]
fn check(name: &str, router: fn() -> Router, method: &str, expected: [Option<i64>; 3]) {
    let runtime = super::paused();
    let callers = [None, Some("ada"), Some("root")];
    let found = callers.map(|caller| {
        let rpc = by(router(), caller).build().unwrap();
        let called = rpc.call::<serde_json::Value>(method, &());
        runtime.block_on(in_time("a reply", called)).err().map(|error| error.code())
    });
    assert_eq!(found, expected, "{name}: {method}");
}

const GUARDED: [Option<i64>; 3] = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), None];
const OPEN: [Option<i64>; 3] = [None; 3];

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

    let outer = || {
        let inner = Router::new().method("stop", || 1);
        Router::new().authorize(rules("admin.*")).nest("admin", inner)
    };
    check("names in the outer router", outer, "admin.stop", GUARDED);

    let all = || Router::new().method("go", || 2).authorize(rules("*"));
    for method in ["go", "rpc.discover"] {
        check("all methods", all, method, GUARDED);
    }
    let discover = || Router::new().method("go", || 2).authorize(rules("rpc.discover"));
    check("the method of the router itself", discover, "rpc.discover", GUARDED);

    let both = || {
        Router::new().method("stop", || 1).authorize(rules("*").require("stop", principal("ada")))
    };
    let neither = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), Some(code::FORBIDDEN)];
    check("all matching rules", both, "stop", neither);

    let layer = || Router::new().method("stop", || 1).layer(AuthorizeLayer::new(principal("root")));
    check("the layer", layer, "stop", GUARDED);
    check("the layer", layer, "rpc.discover", GUARDED);
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
