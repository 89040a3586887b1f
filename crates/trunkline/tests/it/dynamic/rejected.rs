//! Rejected replacements and registrations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trunkline::layers::authorize::{Rules, authenticated};
use trunkline::layers::{Next, from_fn};
use trunkline::{Call, DynamicOperations, Router, code};

use super::{call, named, names, tool};

#[test]
fn a_rejected_replacement_changes_nothing() {
    let (tools, others) = (DynamicOperations::new(), DynamicOperations::new());
    others.replace(tool("other", "taken")).unwrap();
    let router = named(["ping", "tool.sum.add"]).merge(tool("fixed", "fixed"));
    let router = router.dynamic("tool", &tools).nest("tool", Router::new().dynamic("sum", &others));
    let rpc = router.build().unwrap();
    tools.replace(named(["a"])).unwrap();
    let (before, document) = (names(&rpc), rpc.openrpc().as_json().to_owned());
    let notified = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&notified);
    rpc.on_change(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });

    let through = |call: Call, next: Next| next.run(call);
    let inside = DynamicOperations::new();
    let rows = [
        (named(["b", "b"]), "method `tool.b` is registered twice: at "),
        (named(["b", "sum.add"]), "method `tool.sum.add` is registered twice: at "),
        (named(["sum.other"]), "method `tool.sum.other` is registered twice: at "),
        (
            tool("b", "fixed"),
            "tool `fixed` is used by method `fixed` and method `tool.b`, registered at ",
        ),
        (
            tool("b", "taken"),
            "tool `taken` is used by method `tool.sum.other` and method `tool.b`, ",
        ),
        (tool("b", "b c"), "invalid tool name `b c`, registered at "),
        (named(["b"]).route_layer("c", from_fn(through)), "no method registered before "),
        (
            named(["b"]).authorize(Rules::new().require("c", authenticated())),
            "no method matches the pattern `c` of the rules given at ",
        ),
        (
            named(["b"]).dynamic("inside", &inside),
            "the dynamic operations added under `inside` at ",
        ),
    ];
    for (router, expected) in rows {
        let error = tools.replace(router).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(names(&rpc), before, "{error}");
        assert_eq!(rpc.openrpc().as_json(), document, "{error}");
        assert_eq!(call(&rpc, "tool.b"), Err(code::METHOD_NOT_FOUND), "{error}");
    }
    assert_eq!(notified.load(Ordering::SeqCst), 0);
}

/// Checks the error message of building `router`.
#[track_caller]
fn check(router: Router, expected: &str) {
    let error = router.build().expect_err("a problem").to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn rejects_invalid_initial_operations() {
    let with = |operations: Router| {
        let tools = DynamicOperations::new();
        tools.replace(operations).unwrap();
        Router::new().dynamic("tool", &tools)
    };
    check(with(named(["a", "a"])), "method `tool.a` is registered twice: at ");
    check(with(named(["a"])).merge(named(["tool.a"])), "method `tool.a` is registered twice: at ");
    check(
        with(tool("a", "x")).merge(tool("b", "x")),
        "tool `x` is used by method `b` and method `tool.a`",
    );
    let reserved = DynamicOperations::new();
    reserved.replace(named(["a"])).unwrap();
    check(Router::new().dynamic("rpc", &reserved), "method `rpc.a`, registered at ");
}

#[test]
fn rejects_operations_that_are_added_twice() {
    let expected = "the dynamic operations added under `b` at ";
    let tools = DynamicOperations::new();
    check(Router::new().dynamic("a", &tools).dynamic("b", &tools), expected);
    check(Router::new().dynamic("b", &tools), expected);
}

#[test]
fn rejects_patterns_that_no_dynamic_operation_can_match() {
    for (pattern, good) in [
        ("tool.*", true),
        ("tool.a", true),
        ("to*", true),
        ("tool", false),
        ("tools.*", false),
        ("toolbox", false),
        ("a", false),
    ] {
        let place = || Router::new().dynamic("tool", &DynamicOperations::new());
        let layered =
            place().route_layer(pattern, from_fn(|call: Call, next: Next| next.run(call)));
        assert_eq!(layered.build().is_ok(), good, "a layer for {pattern}");
        let ruled = place().authorize(Rules::new().require(pattern, authenticated()));
        assert_eq!(ruled.build().is_ok(), good, "a rule for {pattern}");
    }
}
