//! Lists of operations contain the current ones.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::history::{Filter, History, HistoryConfig};
use trunkline::{DynamicOperations, Router, Rpc, code, server};

use super::{call, named, names, service};
use crate::support::{Client, in_time, on_loopback, serve_with};

/// Compares all lists of operations with `expected`, and calls each. The result is the part after the last dot.
#[track_caller]
fn check(rpc: &Rpc, expected: &[&str]) {
    assert_eq!(names(rpc), [expected, &["rpc.discover"]].concat());
    let discovered = call(rpc, "rpc.discover").unwrap();
    for document in [&discovered, &serde_json::to_value(rpc.openrpc()).unwrap()] {
        let methods = document["methods"].as_array().unwrap();
        let methods: Vec<_> = methods.iter().map(|method| method["name"].clone()).collect();
        assert_eq!(methods, expected);
    }
    let counted: Vec<String> = rpc.metrics().into_iter().map(|metrics| metrics.method).collect();
    assert_eq!(counted, [expected, &["rpc.discover", "unknown"]].concat());
    for name in expected {
        let own = name.rsplit('.').next().unwrap();
        assert_eq!(call(rpc, name), Ok(json!(own)), "{name}");
    }
}

#[test]
fn lists_current_operations() {
    let (rpc, tools) = service();
    check(&rpc, &["ping"]);
    tools.replace(named(["b", "a"])).unwrap();
    check(&rpc, &["ping", "tool.b", "tool.a"]);
    check(&rpc.clone(), &["ping", "tool.b", "tool.a"]);
    tools.clone().replace(named(["c"])).unwrap();
    check(&rpc, &["ping", "tool.c"]);
    for gone in ["tool.a", "tool.b", "c", "tool"] {
        assert_eq!(call(&rpc, gone), Err(code::METHOD_NOT_FOUND), "{gone}");
    }
    drop(tools);
    check(&rpc, &["ping", "tool.c"]);
}

#[test]
fn lists_dynamic_operations_in_order_with_their_namespaces() {
    let (one, two) = (DynamicOperations::new(), DynamicOperations::new());
    let inner = named(["x"]).dynamic("one", &one);
    let router = named(["first"]).nest("in", inner).dynamic("two", &two);
    let rpc = router.merge(named(["last"])).build().unwrap();
    two.replace(named(["b"])).unwrap();
    check(&rpc, &["first", "in.x", "last", "two.b"]);
    one.replace(named(["a"])).unwrap();
    check(&rpc, &["first", "in.x", "last", "in.one.a", "two.b"]);
    two.replace(Router::new()).unwrap();
    check(&rpc, &["first", "in.x", "last", "in.one.a"]);
    assert!(rpc.has_dynamic_operations());
    let fixed: Vec<_> = rpc.operations().iter().map(|operation| operation.is_static()).collect();
    assert_eq!(fixed, [true, true, true, false, true]);
}

#[test]
fn starts_with_the_operations_that_were_set_last() {
    let tools = DynamicOperations::new();
    tools.replace(named(["a"])).unwrap();
    let router = named(["ping"]).dynamic("tool", &tools);
    tools.replace(named(["b"])).unwrap();
    check(&router.build().unwrap(), &["ping", "tool.b"]);
}

#[test]
fn listeners_see_the_new_operations() {
    let (rpc, tools) = service();
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    for _ in 0..2 {
        let (seen, service) = (Arc::clone(&seen), rpc.clone());
        rpc.on_change(move || seen.lock().unwrap().push(names(&service)));
    }
    tools.replace(named(["a"])).unwrap();
    tools.replace(named(["ping", "ping"])).unwrap_err();
    tools.replace(Router::new()).unwrap();
    let [with, without] = [&["ping", "tool.a", "rpc.discover"][..], &["ping", "rpc.discover"]];
    assert_eq!(*seen.lock().unwrap(), [with, with, without, without]);
}

#[test]
fn a_listener_may_replace_operations() {
    let (tools, copies) = (DynamicOperations::new(), DynamicOperations::new());
    let rpc = Router::new().dynamic("tool", &tools).dynamic("copy", &copies).build().unwrap();
    let (service, copy) = (rpc.clone(), copies.clone());
    rpc.on_change(move || {
        if !names(&service).contains(&"copy.a".to_owned()) {
            copy.replace(named(["a"])).unwrap();
        }
    });
    tools.replace(named(["a"])).unwrap();
    check(&rpc, &["tool.a", "copy.a"]);
}

#[tokio::test]
async fn the_openrpc_endpoint_follows_changes() {
    let (rpc, tools) = service();
    let service = rpc.http_with(on_loopback()).merge(rpc.openrpc_routes());
    let server = serve_with(service, server::ServerConfig::default()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let mut tag = String::new();
    for (change, expected) in [
        (named(["a"]), Some("tool.a")),
        // Another operation, but the same document.
        (named(["a"]), None),
        (named(["b"]), Some("tool.b")),
    ] {
        tools.replace(change).unwrap();
        let headers = format!("Host: localhost\r\nIf-None-Match: {tag}\r\n");
        client.send(format!("GET /openrpc.json HTTP/1.1\r\n{headers}\r\n")).await;
        let reply = in_time("a reply", client.reply()).await;
        let Some(expected) = expected else {
            assert_eq!(reply.status, 304);
            continue;
        };
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["methods"][1]["name"], json!(expected));
        assert_ne!(reply.header("etag"), Some(&*tag));
        tag = reply.header("etag").unwrap().to_owned();
    }
    server.stop().await;
}

#[test]
fn records_calls_by_full_name() {
    let tools = DynamicOperations::new();
    let history = History::new(HistoryConfig::default());
    let router = Router::new().dynamic("tool", &tools);
    let rpc = router.build().unwrap().with_history(history.clone());
    tools.replace(named(["a"])).unwrap();
    call(&rpc, "tool.a").unwrap();
    tools.replace(Router::new()).unwrap();
    call(&rpc, "tool.a").unwrap_err();
    let page = history.entries(&Filter::default());
    let entries = page.entries.iter().map(|entry| serde_json::to_value(&**entry).unwrap());
    let found: Vec<[Value; 2]> =
        entries.map(|entry| [entry["method"].clone(), entry["code"].clone()]).collect();
    let (known, unknown) = (json!("tool.a"), json!(code::METHOD_NOT_FOUND));
    assert_eq!(found, [[known.clone(), unknown], [known, Value::Null]]);
}
