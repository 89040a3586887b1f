//! Registration, layers, build errors, and the arguments and results of handlers.

use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::extract::{CallId, FromCall, State};
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::Json;
use trunkline_core::outcome::Outcome;
use trunkline_core::params::{Params, RawParams};
use trunkline_server::request::Extension;

use super::{BuildError, Operation, Router, SourceLocation};
use crate::layers::{FromFnLayer, Next, TimeoutLayer, from_fn};
use crate::rpc::Rpc;

fn answer(rpc: &Rpc, body: &str, extensions: Extensions) -> Option<Value> {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(rpc.handle(body.to_owned().into(), extensions));
    reply.into_json().map(|json| serde_json::from_slice(&json).unwrap())
}

/// Calls `method` without params and compares the result.
#[track_caller]
fn check(rpc: &Rpc, method: &str, result: &Value) {
    let body = json!({ "jsonrpc": "2.0", "method": method, "id": 1 }).to_string();
    let reply = answer(rpc, &body, Extensions::new());
    assert_eq!(reply, Some(json!({ "jsonrpc": "2.0", "result": result, "id": 1 })), "{method}");
}

/// Calls `method` without params and compares the error.
#[track_caller]
fn fails(rpc: &Rpc, method: &str, error: &Value) {
    let body = json!({ "jsonrpc": "2.0", "method": method, "id": 1 }).to_string();
    let reply = answer(rpc, &body, Extensions::new());
    assert_eq!(reply, Some(json!({ "jsonrpc": "2.0", "error": error, "id": 1 })), "{method}");
}

/// Checks the error message of building `router`.
#[track_caller]
fn problem(router: Router, expected: &str) {
    let error = router.build().expect_err("a problem");
    assert_eq!(error.to_string(), expected);
}

/// Registers `name`, and returns the place.
#[track_caller]
fn register(router: Router, name: &str) -> (Router, SourceLocation) {
    (router.method(name, || ()), Location::caller())
}

/// A layer that appends its name to the call.
fn mark(name: &'static str) -> FromFnLayer<impl Fn(Call, Next) -> MarkFuture> {
    from_fn(move |mut call: Call, next: Next| {
        let seen = call.extensions().get::<Seen>().cloned().unwrap_or_default();
        call.extensions_mut().insert(Seen([seen.0, vec![name]].concat()));
        Box::pin(next.run(call)) as MarkFuture
    })
}

type MarkFuture = std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The layers that a call has passed, outermost first.
#[derive(Debug, Clone, Default)]
struct Seen(Vec<&'static str>);

impl<S> FromCall<S> for Seen {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned().unwrap_or_default())
    }
}

fn seen(Seen(seen): Seen) -> Vec<&'static str> {
    seen
}

#[test]
fn rejects_duplicate_names_with_both_places() {
    let text =
        |first, second| format!("method `a.b` is registered twice: at {first} and at {second}");
    let (router, first) = register(Router::new(), "a.b");
    let (router, second) = register(router.method("other", || ()), "a.b");
    assert_ne!(first, second);
    problem(router, &text(first, second));

    let (inner, first) = register(Router::new(), "b");
    let (other, second) = register(Router::new(), "a.b");
    problem(Router::new().nest("a", inner).merge(other), &text(first, second));
}

#[test]
fn rejects_reserved_names() {
    let (router, place) = register(Router::new(), "rpc.x");
    let text = "begins with `rpc.`, which is reserved";
    problem(router, &format!("method `rpc.x`, registered at {place}, {text}"));

    for name in ["rpc.discover", "rpc.", "rpc.a.b"] {
        let error = Router::new().method(name, || ()).build().unwrap_err();
        assert!(matches!(error, BuildError::Reserved { name: found, .. } if found == name));
    }
    let nested = Router::<()>::new().nest("rpc", Router::new().method("x", || ())).build();
    assert!(matches!(nested, Err(BuildError::Reserved { name, .. }) if name == "rpc.x"));
    for name in ["rpc", "rpcs.x", "RPC.x", "x.rpc.y"] {
        check(&Router::new().method(name, || 1).build().unwrap(), name, &json!(1));
    }
}

#[test]
fn rejects_duplicate_params() {
    #[track_caller]
    fn twice() -> (Router, SourceLocation) {
        let router = Router::new().method("m", |_: Params<Find>, _: Params<Find>| ());
        (router, Location::caller())
    }

    let (router, place) = twice();
    problem(router, &format!("method `m`, registered at {place}, declares the param `text` twice"));
}

#[test]
fn rejects_a_layer_that_matches_nothing() {
    #[track_caller]
    fn layered(router: Router, pattern: &str) -> (Router, SourceLocation) {
        (router.route_layer(pattern, mark("x")), Location::caller())
    }

    let (router, place) = layered(Router::new(), "math.*");
    let text = "matches the pattern `math.*` of this layer";
    let text = format!("no method registered before {place} {text}");
    problem(router.method("math.add", || 1), &text);
    for pattern in ["math", "math.ad", "ath.*", "math.add.*", "add", ""] {
        let router = Router::new().method("math.add", || 1).route_layer(pattern, mark("x"));
        let error = router.build().unwrap_err();
        assert!(
            matches!(error, BuildError::UnmatchedLayer { pattern: found, .. } if found == pattern)
        );
    }
}

#[test]
fn reports_the_first_problem() {
    let other = Router::new().route_layer("nothing", mark("x")).with_state::<()>(());
    let router = Router::new().merge(other).route_layer("later", mark("y"));
    let error = router.build().unwrap_err();
    assert!(matches!(error, BuildError::UnmatchedLayer { pattern, .. } if pattern == "nothing"));
}

#[test]
fn rejects_invalid_limits() {
    let set = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        Router::<()>::new().limits(limits)
    };
    let depth = "limit `depth` must be from 1 to 1,024";
    problem(set(|limits| limits.depth = 0), depth);
    problem(set(|limits| limits.depth = 1_025), depth);
    problem(
        set(|limits| limits.batch_parallelism = 0),
        "limit `batch_parallelism` must be at least 1",
    );
    problem(
        set(|limits| limits.concurrent_calls = Some(0)),
        "limit `concurrent_calls` must be at least 1",
    );
    problem(
        set(|limits| limits.blocking_threads = 0),
        "limit `blocking_threads` must be at least 1",
    );
    let work: [fn(&mut Limits); 6] = [
        |limits| limits.depth = 1,
        |limits| limits.depth = Limits::MAX_DEPTH,
        |limits| limits.concurrent_calls = Some(usize::MAX),
        |limits| limits.call_timeout = Some(Duration::MAX),
        |limits| limits.blocking_queue = 0,
        |limits| limits.batch_parallelism = usize::MAX,
    ];
    for change in work {
        let rpc = set(change).method("m", async || 1).build().unwrap();
        check(&rpc, "m", &json!(1));
    }
}

#[test]
fn merge_and_nest_keep_the_order() {
    let inner = Router::new().method("b", || "a.b").method("c.d", || "a.c.d");
    let limits = Limits { depth: 5, ..Limits::default() };
    let rpc = Router::new()
        .limits(limits)
        .method("z", || "z")
        .nest("a", inner)
        .merge(Router::new().limits(Limits::default()).method("y", || "y"))
        .build()
        .unwrap();
    for name in ["z", "a.b", "a.c.d", "y"] {
        check(&rpc, name, &json!(name));
    }
    let operations = rpc.operations();
    let names: Vec<_> = operations.iter().map(|operation| operation.name()).collect();
    assert_eq!(names, ["z", "a.b", "a.c.d", "y", "rpc.discover"]);
    assert_eq!(rpc.limits().depth, 5, "the limits remain the outer router's");
}

#[test]
fn names_unknown_methods() {
    let rpc = Router::new().method("add", || 1).build().unwrap();
    for name in ["", "ADD", "add ", "add\0", "é\n\"", "rpc.unknown"] {
        let data = json!({ "method": name });
        let message = "Method not found";
        fails(&rpc, name, &json!({ "code": -32601, "message": message, "data": data }));
    }
}

#[test]
fn finds_methods_by_escaped_names() {
    let rpc = Router::new().method("é/\"\n", || 1).build().unwrap();
    for name in [r#"é/\"\n"#, r#"\u00e9\/\u0022\u000A"#, r#"\u00E9/\"\u000a"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{name}","id":1}}"#);
        let reply = answer(&rpc, &body, Extensions::new()).unwrap();
        assert_eq!(reply, json!({ "jsonrpc": "2.0", "result": 1, "id": 1 }), "{name}");
    }
}

#[test]
fn the_last_layer_is_the_outermost_and_wraps_earlier_methods_only() {
    let rpc = Router::new()
        .method("a.x", seen)
        .method("a.y", seen)
        .layer(mark("1"))
        .route_layer("a.*", mark("2"))
        .method("b.x", seen)
        .route_layer("a.y", mark("3"))
        .layer(mark("4"))
        .method("ab", seen)
        .route_layer("a*", mark("5"))
        .method("last", seen)
        .build()
        .unwrap();
    check(&rpc, "a.x", &json!(["5", "4", "2", "1"]));
    check(&rpc, "a.y", &json!(["5", "4", "3", "2", "1"]));
    check(&rpc, "b.x", &json!(["4"]));
    check(&rpc, "ab", &json!(["5"]));
    check(&rpc, "last", &json!([]));
}

#[test]
fn keeps_layers_through_merge_nest_and_with_state() {
    let inner = Router::new().method("x", seen).layer(mark("inner"));
    let merged = Router::new().method("y", seen).route_layer("y", mark("merged"));
    let rpc = Router::new()
        .nest("in", inner)
        .merge(merged.with_state(7_u8))
        .layer(mark("outer"))
        .with_state(())
        .layer(mark("after the state"))
        .build()
        .unwrap();
    check(&rpc, "in.x", &json!(["after the state", "outer", "inner"]));
    check(&rpc, "y", &json!(["after the state", "outer", "merged"]));
}

#[test]
fn merged_routers_may_have_different_states() {
    let numbers = Router::new().method("number", |State(n): State<i64>| n).with_state(1);
    let texts = Router::new().method("text", |State(s): State<&'static str>| s).with_state("one");
    let rpc = Router::new().merge(numbers).merge(texts).build().unwrap();
    check(&rpc, "number", &json!(1));
    check(&rpc, "text", &json!("one"));

    let shared = Arc::new(Mutex::new(0));
    let count = |State(count): State<Arc<Mutex<i64>>>| {
        let mut count = count.lock().unwrap();
        *count += 1;
        *count
    };
    let router = Router::new().method("a", count).method("b", count);
    let rpc = router.with_state(Arc::clone(&shared)).build().unwrap();
    check(&rpc, "a", &json!(1));
    check(&rpc.clone(), "b", &json!(2));
    assert_eq!(*shared.lock().unwrap(), 2);
}

#[test]
fn handlers_receive_extensions_of_the_transport_and_of_layers() {
    #[derive(Clone)]
    struct Peer(&'static str);

    let rpc = Router::new()
        .method("peer", |Extension(Peer(name)): Extension<Peer>| name)
        .method("changed", |Extension(Peer(name)): Extension<Peer>| name)
        .route_layer(
            "changed",
            from_fn(|mut call: Call, next: Next| {
                call.extensions_mut().insert(Peer("layer"));
                next.run(call)
            }),
        )
        .build()
        .unwrap();
    let mut extensions = Extensions::new();
    extensions.insert(Peer("first"));
    extensions.insert(Peer("transport"));
    let call = |method, id| format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":{id}}}"#);
    // Changes by a layer apply to one call of a batch only.
    let body = format!("[{},{},{}]", call("peer", 1), call("changed", 2), call("peer", 3));
    let reply = answer(&rpc, &body, extensions).unwrap();
    let results: Vec<_> = reply.as_array().unwrap().iter().map(|reply| &reply["result"]).collect();
    assert_eq!(results, ["transport", "layer", "transport"]);

    let reply = answer(&rpc, &call("peer", 1), Extensions::new()).unwrap();
    assert_eq!(reply["error"]["code"], code::INTERNAL_ERROR, "the extension is not set");
    assert!(!reply.to_string().contains("Peer"), "the cause must not be sent: {reply}");
}

#[test]
fn handlers_may_take_the_id_and_custom_extractors() {
    struct NotSeven;

    impl<S> FromCall<S> for NotSeven {
        fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
            match call.id() {
                Some(id) if id.as_raw() == "7" => Err(ErrorObject::new(7, "seven")),
                _ => Ok(Self),
            }
        }
    }

    let last = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&last);
    let rpc = Router::new()
        .method("id", move |NotSeven: NotSeven, CallId(id): CallId| {
            *seen.lock().unwrap() = Some(id.clone());
            id.map(|id| id.to_string())
        })
        .build()
        .unwrap();
    let call = |id: &str| {
        let id = if id.is_empty() { String::new() } else { format!(r#","id":{id}"#) };
        let body = format!(r#"{{"jsonrpc":"2.0","method":"id"{id}}}"#);
        answer(&rpc, &body, Extensions::new())
    };
    assert_eq!(call("1.0").unwrap()["result"], "1.0");
    assert_eq!(call("null").unwrap()["result"], "null");
    assert_eq!(call(r#""\u0041""#).unwrap()["result"], r#""\u0041""#);
    assert_eq!(call("7").unwrap()["error"], json!({ "code": 7, "message": "seven" }));
    assert_eq!(call(""), None);
    assert_eq!(last.lock().unwrap().take(), Some(None), "a notification has no id");
}

#[test]
fn serialises_results_of_all_return_types() {
    #[derive(serde::Serialize)]
    struct Point {
        x: i64,
    }

    let rpc = Router::new()
        .method("unit", || ())
        .method("none", || None::<i64>)
        .method("big", || u128::MAX)
        .method("float", || 1.5)
        .method("nan", || f64::NAN)
        .method("tuple", || (1, "a", [true]))
        .method("json", || Json(Point { x: 1 }))
        .method("ok", || Ok::<_, ErrorObject>(Point { x: 2 }))
        .method("async", || async { vec!["a"] })
        .method("async ok", || async { Ok::<_, ErrorObject>(Point { x: 3 }) })
        .method("outcome", || Outcome::result("o"))
        .method("error", || Err::<(), _>(ErrorObject::new(9, "no").with_data(&())))
        .method("async error", || async { Err::<(), _>(ErrorObject::new(-9, "ń\"")) })
        .method("unserialisable", || {
            Json([((1, 2), 3)].into_iter().collect::<std::collections::HashMap<_, _>>())
        })
        .build()
        .unwrap();
    for (method, result) in [
        ("unit", json!(null)),
        ("none", json!(null)),
        ("float", json!(1.5)),
        ("nan", json!(null)),
        ("tuple", json!([1, "a", [true]])),
        ("json", json!({ "x": 1 })),
        ("ok", json!({ "x": 2 })),
        ("async", json!(["a"])),
        ("async ok", json!({ "x": 3 })),
        ("outcome", json!("o")),
    ] {
        check(&rpc, method, &result);
    }
    fails(&rpc, "error", &json!({ "code": 9, "message": "no", "data": null }));
    fails(&rpc, "async error", &json!({ "code": -9, "message": "ń\"" }));
    let call = |method| {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
        let runtime = Builder::new_current_thread().build().unwrap();
        let reply = runtime.block_on(rpc.handle(body.into(), Extensions::new()));
        String::from_utf8(reply.into_json().unwrap()).unwrap()
    };
    assert!(call("big").contains(&u128::MAX.to_string()));
    assert!(call("unserialisable").contains("-32603"));
}

#[test]
fn describes_the_service_in_openrpc() {
    let rpc = Router::new()
        .info("Sums", "1.2.3")
        .operation(Operation::new("find", |_: Params<Find>, _: State<()>| ()).description("Finds."))
        .method("raw", |_: RawParams| ())
        .build()
        .unwrap();
    let any = |name| json!({ "name": name, "schema": true });
    let method = |name, params: &[Value]| {
        let result = any("result");
        json!({ "name": name, "paramStructure": "either", "params": params, "result": result })
    };
    let mut find = method("find", &[any("text"), any("limit")]);
    find["description"] = "Finds.".into();
    check(
        &rpc,
        "rpc.discover",
        &json!({
            "openrpc": "1.3.2",
            "info": { "title": "Sums", "version": "1.2.3" },
            "methods": [find, method("raw", &[])],
        }),
    );
    let body = r#"{"jsonrpc":"2.0","method":"rpc.discover","params":[1],"id":1}"#;
    let reply = answer(&rpc, body, Extensions::new()).unwrap();
    assert_eq!(reply["error"]["code"], code::INVALID_PARAMS, "rpc.discover takes no params");
}

#[derive(serde::Deserialize)]
struct Find {
    #[serde(rename = "text")]
    _text: String,
    #[serde(rename = "limit")]
    _limit: Option<i64>,
}

#[test]
fn rejects_invalid_and_duplicate_tool_names() {
    let tool = |name: &str, tool: &str| Operation::new(name, || 1).tool(tool);
    for good in ["a", "list_tables", "admin.tools-2", &"x".repeat(128)] {
        assert!(Router::<()>::new().operation(tool("m", good)).build().is_ok(), "{good}");
    }
    for bad in ["", "a b", "naïve", "a/b", &"x".repeat(129)] {
        let error = Router::<()>::new().operation(tool("m", bad)).build().unwrap_err();
        assert!(matches!(error, BuildError::ToolName { tool, .. } if tool == bad), "{bad}");
    }
    let duplicate = Router::<()>::new().operation(tool("m", "t")).operation(tool("n", "t")).build();
    assert!(matches!(duplicate, Err(BuildError::DuplicateTool { tool, first, second, .. })
            if (tool.as_str(), first.as_str(), second.as_str()) == ("t", "m", "n")));
}

#[test]
fn layers_wrap_rpc_discover_and_unknown_methods() {
    let refuse =
        || from_fn(async |_: Call, _: Next| Outcome::error(ErrorObject::new(1, "refused")));
    let methods = || Router::new().method("m", || 1);
    let wait = TimeoutLayer::new(Duration::from_secs(1));
    let rpc = methods().layer(wait).layer(refuse()).build().unwrap();
    for method in ["m", "rpc.discover", "x"] {
        fails(&rpc, method, &json!({ "code": 1, "message": "refused" }));
    }
    // Those of some methods, and of another router, do not.
    let data = json!({ "method": "x" });
    let unknown = json!({ "code": -32601, "message": "Method not found", "data": data });
    fails(&methods().route_layer("m", refuse()).build().unwrap(), "x", &unknown);
    fails(&Router::new().merge(methods().layer(refuse())).build().unwrap(), "x", &unknown);
}
