//! Layers and rules of a router apply to dynamic operations.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use trunkline::access::Principal;
use trunkline::layers::authorize::{Rules, SharedRules, principal};
use trunkline::layers::{FromFnLayer, Next, from_fn};
use trunkline::{
    Call, DynamicNamespaces, DynamicOperations, ErrorObject, Extension, Extensions, Limits,
    Outcome, Router, Rpc, State, blocking, code,
};

use super::{call, named};
use crate::support::in_time;

/// The layers that a call has passed.
#[derive(Clone, Default)]
struct Seen(Vec<&'static str>);

/// A layer that appends its name to the call.
fn mark(name: &'static str) -> FromFnLayer<impl Fn(Call, Next) -> BoxFuture<'static, Outcome>> {
    from_fn(move |mut call: Call, next: Next| {
        let seen = call.extensions().get::<Seen>().cloned().unwrap_or_default();
        call.extensions_mut().insert(Seen([seen.0, vec![name]].concat()));
        next.run(call).boxed()
    })
}

/// The methods `shout` and `sum.add`, which return the layers around them.
fn tools() -> Router {
    let seen = |Extension(Seen(seen)): Extension<Seen>| seen;
    Router::new().method("shout", seen).method("sum.add", seen).layer(mark("own"))
}

/// Compares the layers around an operation that is set before the build, and around one that is set later.
#[track_caller]
fn check(name: &str, router: fn(&DynamicOperations) -> Router, method: &str, expected: &[&str]) {
    let dynamic = DynamicOperations::new();
    dynamic.replace(tools()).unwrap();
    let rpc = router(&dynamic).build().unwrap();
    assert_eq!(call(&rpc, method), Ok(json!(expected)), "{name}: at the start");
    dynamic.replace(tools()).unwrap();
    assert_eq!(call(&rpc, method), Ok(json!(expected)), "{name}: later");
}

#[test]
fn layers() {
    let place =
        |tools: &DynamicOperations| Router::new().layer(mark("before")).dynamic("tool", tools);
    check("a layer before it", place, "tool.shout", &["own"]);

    let all = |tools: &DynamicOperations| {
        Router::new().dynamic("tool", tools).layer(mark("1")).route_layer("*", mark("2"))
    };
    check("all operations", all, "tool.shout", &["2", "1", "own"]);
    check("all operations", all, "tool.sum.add", &["2", "1", "own"]);

    let some = |tools: &DynamicOperations| {
        let router = Router::new().dynamic("tool", tools).method("other", || 1);
        router
            .route_layer("tool.*", mark("tool.*"))
            .route_layer("tool.shout", mark("tool.shout"))
            .route_layer("tool.sum.*", mark("tool.sum.*"))
            .route_layer("other", mark("other"))
            .route_layer("t*", mark("t*"))
    };
    check("matching operations", some, "tool.shout", &["t*", "tool.shout", "tool.*", "own"]);
    check("matching operations", some, "tool.sum.add", &["t*", "tool.sum.*", "tool.*", "own"]);

    let nested = |tools: &DynamicOperations| {
        let inner = Router::new().dynamic("tool", tools).route_layer("tool.shout", mark("inner"));
        Router::new().nest("a", inner).route_layer("a.tool.*", mark("outer"))
    };
    check("names at the time of each layer", nested, "a.tool.shout", &["outer", "inner", "own"]);
    check("names at the time of each layer", nested, "a.tool.sum.add", &["outer", "own"]);

    let merged = |tools: &DynamicOperations| {
        let inner = Router::<u8>::new().dynamic("tool", tools).layer(mark("inner"));
        Router::new().merge(inner.with_state(7)).layer(mark("outer"))
    };
    check("merged, with a state", merged, "tool.shout", &["outer", "inner", "own"]);
}

/// Compares the errors for no principal, for `ada` and for `root`.
#[track_caller]
fn guarded(
    name: &str,
    router: fn(&DynamicOperations) -> Router,
    method: &str,
    expected: [Option<i64>; 3],
) {
    let found = [None, Some("ada"), Some("root")].map(|caller| {
        let dynamic = DynamicOperations::new();
        let rpc = router(&dynamic).build().unwrap();
        dynamic.replace(named(["shout", "whisper"])).unwrap();
        let mut extensions = Extensions::new();
        if let Some(name) = caller {
            extensions.insert(Principal::new(name));
        }
        let body = json!({"jsonrpc": "2.0", "method": method, "id": 1}).to_string();
        let reply = rpc.handle(body.into(), extensions).now_or_never().expect("a reply at once");
        reply.code()
    });
    assert_eq!(found, expected, "{name}: {method}");
}

#[test]
fn rules() {
    const GUARDED: [Option<i64>; 3] = [Some(code::UNAUTHENTICATED), Some(code::FORBIDDEN), None];
    const OPEN: [Option<i64>; 3] = [None; 3];
    let before = |tools: &DynamicOperations| {
        let rules = Rules::new().require("tool.*", principal("root"));
        Router::new().authorize(rules).dynamic("tool", tools)
    };
    guarded("rules added before the operations", before, "tool.shout", GUARDED);
    let one = |tools: &DynamicOperations| {
        let rules = Rules::new().require("tool.shout", principal("root"));
        Router::new().dynamic("tool", tools).authorize(rules)
    };
    guarded("one name", one, "tool.shout", GUARDED);
    guarded("one name", one, "tool.whisper", OPEN);
    guarded("one name", one, "rpc.discover", OPEN);
    let nested = |tools: &DynamicOperations| {
        let rules = Rules::new().require("tool.shout", principal("root"));
        Router::new().nest("a", Router::new().dynamic("tool", tools).authorize(rules))
    };
    guarded("names before nesting", nested, "a.tool.shout", GUARDED);
    guarded("names before nesting", nested, "a.tool.whisper", OPEN);
}

/// The layers and rules that match apply to namespaces that are added before and after the service is built.
#[test]
fn namespaces_that_are_added() {
    let namespaces = DynamicNamespaces::new();
    let early = namespaces.add("early");
    early.replace(tools()).unwrap();
    let rules = SharedRules::from(Rules::new().require("a.late.guarded", principal("root")));
    let inner = Router::new().dynamic_namespaces(&namespaces).method("late.other", || 1);
    let rpc = Router::new()
        .nest("a", inner.layer(mark("inner")))
        .route_layer("a.late.*", mark("late"))
        .authorize_shared(&rules)
        .layer(mark("all"))
        .build()
        .unwrap();
    let late = namespaces.add("late");
    let other = namespaces.add("other");
    for _ in 0..2 {
        assert_eq!(call(&rpc, "a.early.shout"), Ok(json!(["all", "inner", "own"])));
        assert_eq!(call(&rpc, "a.late.shout"), Err(code::METHOD_NOT_FOUND));
        late.replace(tools().method("guarded", || 1)).unwrap();
        other.replace(tools().method("guarded", || 1)).unwrap();
        assert_eq!(call(&rpc, "a.late.shout"), Ok(json!(["all", "late", "inner", "own"])));
        assert_eq!(call(&rpc, "a.late.guarded"), Err(code::UNAUTHENTICATED));
        assert_eq!(call(&rpc, "a.other.shout"), Ok(json!(["all", "inner", "own"])));
        assert_eq!(call(&rpc, "a.other.guarded"), Ok(json!(1)));
        // A name of another method changes nothing.
        assert!(late.replace(named(["other"])).is_err());
        assert!(call(&rpc, "a.late.shout").is_ok());
        late.replace(Router::new()).unwrap();
    }
    assert!(Router::new().dynamic_namespaces(&namespaces).build().is_err());
    // Misspelt names are still found.
    let misspelt = Rules::new().require("lat.guarded", principal("root"));
    let router = Router::new().dynamic_namespaces(&DynamicNamespaces::new());
    assert!(router.authorize(misspelt).build().is_err());
}

#[test]
fn rules_of_dynamic_operations_apply_to_names_without_the_namespace() {
    let (rpc, tools) = super::service();
    let rules = Rules::new().require("shout", principal("root"));
    tools.replace(named(["shout", "whisper"]).authorize(rules)).unwrap();
    assert_eq!(call(&rpc, "tool.shout"), Err(code::UNAUTHENTICATED));
    assert_eq!(call(&rpc, "tool.whisper"), Ok(json!("whisper")));
}

#[test]
fn default_layers_apply_to_dynamic_operations() {
    let tools = DynamicOperations::new();
    let limits =
        Limits { call_timeout: Some(std::time::Duration::from_secs(1)), ..Limits::default() };
    let rpc: Rpc = Router::new().dynamic("tool", &tools).limits(limits).build().unwrap();
    let router = Router::new()
        .method("panics", || -> u8 { panic!("caught") })
        .method("hangs", std::future::pending::<()>)
        .method("fails", || Err::<(), _>(ErrorObject::new(7, "no")))
        .method("state", |State(n): State<u8>| n);
    tools.replace(router.with_state(42)).unwrap();
    for (method, expected) in [
        ("tool.panics", Err(code::INTERNAL_ERROR)),
        ("tool.hangs", Err(code::TIMEOUT)),
        ("tool.fails", Err(7)),
        ("tool.state", Ok(json!(42))),
    ] {
        assert_eq!(call(&rpc, method), expected, "{method}");
    }
}

#[tokio::test]
async fn blocking_handlers_run_on_another_thread() {
    let (rpc, tools) = super::service();
    tools.replace(Router::new().method("name", blocking(name_of_thread))).unwrap();
    let name: String = in_time("a reply", rpc.call("tool.name", &[0; 0])).await.unwrap();
    assert_ne!(name, name_of_thread());
}

fn name_of_thread() -> String {
    format!("{:?}", std::thread::current().id())
}
