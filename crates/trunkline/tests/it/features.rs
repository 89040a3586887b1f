//! One test for each row of `docs/reference/comparison.md`, over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::client::{Client, Error, Http};
use trunkline::http::{Headers, HttpConfig, Peer, StatusPolicy};
use trunkline::layers::{Next, from_fn};
use trunkline::{
    Call, ErrorObject, Limits, Params, Router, Server, ServerHandle, code, rpc, server,
};

use crate::support::{self, Gate, in_time, post, until};

async fn serve(router: Router) -> (ServerHandle, Client) {
    let server = Server::bind("127.0.0.1:0").serve(router.build().unwrap()).await.unwrap();
    let client = client(server.local_addr());
    (server, client)
}

fn client(address: SocketAddr) -> Client {
    Client::new(Http::connect(&format!("http://{address}")).unwrap())
}

/// Posts a body. Returns the HTTP status and the body of the response.
async fn ask(server: &ServerHandle, body: &Value) -> (u16, Value) {
    let mut client = support::Client::connect(server.local_addr()).await;
    let reply = client.ask(post(body.to_string())).await;
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

#[tokio::test]
async fn layers_see_each_call_and_each_member_of_a_batch() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let layer = from_fn(move |call: Call, next: Next| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { next.run(call).await }
    });
    let router = Router::new().method("add", support::add).layer(layer);
    let (_server, client) = serve(router).await;
    let mut batch = client.batch();
    let slots = [1, 2, 3].map(|number| batch.add(client.call::<i64>("add", (number, number))));
    let mut replies = batch.send().await.unwrap();
    let sums = slots.map(|slot| replies.take(slot).unwrap());
    assert_eq!((sums, seen.load(Ordering::SeqCst)), ([2, 4, 6], 3));
}

#[tokio::test]
async fn params_come_by_name_and_by_position_with_defaults_and_variadic() {
    struct Arithmetic;

    #[rpc]
    impl Arithmetic {
        fn scale(&self, value: i64, #[param(default = 2)] by: i64) -> i64 {
            value * by
        }

        fn sum(&self, #[param(variadic)] of: Vec<i64>) -> i64 {
            of.iter().sum()
        }
    }

    let (_server, client) = serve(Arithmetic.into_router()).await;
    let rows = [
        ("scale", json!([21]), 42),
        ("scale", json!([21, 3]), 63),
        ("scale", json!({"value": 21}), 42),
        ("scale", json!({"by": 3, "value": 21}), 63),
        ("sum", json!([1, 2, 3]), 6),
        ("sum", json!({"of": [1, 2, 3]}), 6),
        ("sum", json!([]), 0),
    ];
    for (method, params, expected) in rows {
        let found: i64 = client.call(method, &params).await.unwrap();
        assert_eq!(found, expected, "{method} {params}");
    }
}

#[tokio::test]
async fn batches_run_in_parallel_up_to_a_limit_and_are_answered_in_order() {
    let gate = Gate::new();
    let limits = Limits { batch_parallelism: 2, ..Limits::default() };
    let (server, _) = serve(gate.router().limits(limits)).await;
    let members: Vec<Value> =
        (0..4).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "wait"})).collect();
    let mut client = support::Client::connect(server.local_addr()).await;
    client.send(post(json!(members).to_string())).await;
    until("two members run", || gate.entered() == 2).await;
    gate.open(4);
    let reply: Value = serde_json::from_slice(&client.reply().await.body).unwrap();
    let ids: Vec<&Value> = reply.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!((ids, gate.entered()), (vec![&json!(0), &json!(1), &json!(2), &json!(3)], 4));
}

#[tokio::test]
async fn small_batches_cannot_ask_for_large_replies() {
    let limits = Limits { reply_bytes: 4_096, ..Limits::default() };
    let router = Router::new().method("large", || "x".repeat(1_000)).limits(limits);
    let (server, _) = serve(router).await;
    let members: Vec<Value> =
        (0..100).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "large"})).collect();
    let (_, replies) = ask(&server, &json!(members)).await;
    let replies = replies.as_array().unwrap();
    let cut = |reply: &&Value| reply["error"]["code"] == code::REPLY_TOO_LARGE;
    assert_eq!((replies.len(), replies.iter().filter(cut).count()), (100, 97));
}

#[tokio::test]
async fn a_notification_runs_its_handler() {
    let logged = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&logged);
    let router = Router::new().method("log", move |Params((line,)): Params<(String,)>| {
        count.fetch_add(line.len(), Ordering::SeqCst);
    });
    let (_server, client) = serve(router).await;
    client.notify("log", ["four"]).await.unwrap();
    // Over HTTP, the response is sent after the handler has run.
    assert_eq!(logged.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_slow_call_times_out() {
    let limits = Limits { call_timeout: Some(Duration::from_millis(20)), ..Limits::default() };
    let (_server, client) = serve(Gate::new().router().limits(limits)).await;
    match in_time("the timeout", async { client.call::<()>("wait", ()).await }).await {
        Err(Error::Application(error)) => assert_eq!(error.code(), code::TIMEOUT),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_disconnected_client_cancels_its_call() {
    let gate = Gate::new();
    let (_server, client) = serve(gate.router()).await;
    let call = tokio::spawn(async move { client.call::<()>("work", ()).await });
    until("the call runs", || gate.entered() == 1).await;
    call.abort();
    until("the handler is cancelled", || gate.cancelled() == 1).await;
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_own_call() {
    fn fail() -> i64 {
        panic!("secret")
    }
    let router = Router::new().method("fail", fail).method("ping", || "pong");
    let (server, _) = serve(router).await;
    let call = |id, method| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let (_, replies) = ask(&server, &json!([call(1, "fail"), call(2, "ping")])).await;
    assert_eq!(replies[0]["error"]["code"], code::INTERNAL_ERROR);
    assert_eq!(replies[1]["result"], "pong");
    assert!(!replies.to_string().contains("secret"), "{replies}");
}

/// One declaration of the server, the client and the OpenRPC description.
#[rpc(namespace = "shop")]
trait Shop {
    /// The price of several items.
    async fn price(&self, count: u32, #[param(default = 10)] each: u32) -> u32;
}

struct Corner;

impl Shop for Corner {
    async fn price(&self, count: u32, each: u32) -> u32 {
        count * each
    }
}

#[tokio::test]
async fn one_trait_is_the_server_the_client_and_the_description() {
    let (_server, client) = serve(Router::new().merge(Corner.into_router())).await;
    assert_eq!(ShopClient::new(client.clone()).price(3, 5).await.unwrap(), 15);
    let document: Value = client.call("rpc.discover", ()).await.unwrap();
    let method = &document["methods"][0];
    assert_eq!(method["name"], "shop.price");
    assert_eq!(method["description"], "The price of several items.");
    assert_eq!(method["params"][0]["required"], true);
    assert_eq!(method["params"][1]["schema"]["default"], 10);
    assert_eq!(method["result"]["schema"]["type"], "integer");
}

#[tokio::test]
async fn a_server_drains_with_a_deadline_and_reports_interrupted_requests() {
    let settings =
        server::ServerConfig { drain_timeout: Duration::from_millis(50), ..Default::default() };
    let gate = Gate::new();
    let rpc = gate.router().build().unwrap();
    let server = Server::bind("127.0.0.1:0").settings(settings).serve(rpc).await.unwrap();
    let client = client(server.local_addr());
    let call = tokio::spawn(async move { client.call::<()>("wait", ()).await });
    until("the call runs", || gate.entered() == 1).await;
    let drained = in_time("the drain", server.stop()).await;
    assert_eq!((drained.in_flight, drained.aborted, drained.is_complete()), (1, 1, false));
    assert!(matches!(call.await.unwrap(), Err(Error::Transport(_))));
}

#[tokio::test]
async fn it_mounts_in_axum() {
    let rpc = Router::new().method("ping", || "pong").build().unwrap();
    let app = axum::Router::new()
        .route("/rest", axum::routing::get(async || "rest"))
        .route_service("/rpc", rpc.http());
    let server = Server::bind("127.0.0.1:0").serve_http(app).await.unwrap();
    let url = format!("http://{}/rpc", server.local_addr());
    let client = Client::new(Http::connect(&url).unwrap());
    assert_eq!(client.call::<String>("ping", ()).await.unwrap(), "pong");
}

#[tokio::test]
async fn handlers_see_headers_and_the_peer() {
    let router = Router::new().method("peer", |headers: Headers, Peer(peer): Peer| {
        let host = headers.get("host").is_some();
        (host, peer.map(|peer| peer.ip().is_loopback()))
    });
    let (_server, client) = serve(router).await;
    let found: (bool, Option<bool>) = client.call("peer", ()).await.unwrap();
    assert_eq!(found, (true, Some(true)));
}

#[tokio::test]
async fn an_error_takes_one_line() {
    let router = Router::new().method("fail", || -> Result<(), ErrorObject> {
        Err(ErrorObject::new(7, "out of paper").with_data(&json!({"tray": 2})))
    });
    let (server, _) = serve(router).await;
    let (_, reply) = ask(&server, &json!({"jsonrpc": "2.0", "id": 1, "method": "fail"})).await;
    let expected = json!({"code": 7, "message": "out of paper", "data": {"tray": 2}});
    assert_eq!(reply["error"], expected);
}

#[tokio::test]
async fn the_status_of_errors_is_configurable() {
    for (status_policy, expected) in [(StatusPolicy::AlwaysOk, 200), (StatusPolicy::ByError, 400)] {
        let rpc = Router::new().method("ping", || "pong").build().unwrap();
        let service = rpc.http_with(HttpConfig { status_policy, ..HttpConfig::default() });
        let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
        let (status, reply) = ask(&server, &json!({"id": 1})).await;
        assert_eq!((status, &reply["error"]["code"]), (expected, &json!(code::INVALID_REQUEST)));
    }
}

#[tokio::test]
async fn idempotent_calls_are_retried() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let router =
        Router::new().method("read", move || match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err(ErrorObject::new(code::BUSY, "Server is busy")),
            _ => Ok("read"),
        });
    let (_server, client) = serve(router).await;
    assert!(client.call::<String>("read", ()).await.is_err());
    attempts.store(0, Ordering::SeqCst);
    assert_eq!(client.call::<String>("read", ()).idempotent().await.unwrap(), "read");
}
