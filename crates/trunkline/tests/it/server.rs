//! The server: start, status, health and stop.

use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::json;
use tokio::net::TcpStream;
use tower::ServiceExt;
use trunkline::server::{
    CheckFuture, Config, DrainMode, Health, Phase, Problems, Readiness, ServeError, Server,
    ServerConfig, create_server,
};
use trunkline::{Router, ServerHandle, code};

use crate::support::{
    Client, DONE, Gate, WAIT, in_time, on_loopback, post, post_with, serve, serve_with, until,
};

const PING: &str = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","result":"pong","id":1}"#;

fn health() -> Health {
    Health { path: "/health".to_owned(), service: "test".to_owned(), version: "1.2.3".to_owned() }
}

fn with_health() -> ServerConfig {
    ServerConfig { health: Some(health()), ..Default::default() }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A server with a gate, and a client with a waiting call.
async fn with_a_waiting_call(settings: ServerConfig) -> (ServerHandle, Gate, Client) {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    let mut client = Client::connect(server.local_addr()).await;
    client.send(post(WAIT)).await;
    until("the call to wait", || gate.entered() == 1).await;
    (server, gate, client)
}

/// Begins to stop a server and waits until it is draining.
async fn draining(server: &ServerHandle) -> tokio::task::JoinHandle<trunkline::server::Drained> {
    let stopping = server.clone();
    let stop = tokio::spawn(async move { stopping.stop().await });
    until("the server to drain", || server.status().phase >= Phase::Draining).await;
    stop
}

#[tokio::test]
async fn reports_the_bound_address() {
    let server = serve(on_loopback()).await;
    let address = server.local_addr();
    assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
    assert_ne!(address.port(), 0);
    TcpStream::connect(address).await.unwrap();
}

#[tokio::test]
async fn connections_and_requests_are_counted() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), with_health()).await;
    let status = server.status();
    assert_eq!((status.phase, status.connections, status.in_flight), (Phase::Running, 0, 0));
    assert_eq!((status.total_connections, status.total_requests), (0, 0));

    let mut one = Client::connect(server.local_addr()).await;
    let mut other = Client::connect(server.local_addr()).await;
    for _ in 0..3 {
        assert_eq!(one.ask(post(PING)).await.body, PONG.as_bytes());
    }
    assert_eq!(one.ask(get("/health")).await.status, 200);
    other.send(post(WAIT)).await;
    until("the call to wait", || gate.entered() == 1).await;
    let status = server.status();
    assert_eq!((status.connections, status.in_flight), (2, 1));
    assert_eq!((status.total_connections, status.total_requests), (2, 4));

    gate.open(1);
    assert_eq!(other.reply().await.body, DONE.as_bytes());
    drop((one, other));
    until("the connections to end", || server.status().connections == 0).await;
    let status = server.status();
    assert_eq!((status.in_flight, status.total_connections, status.total_requests), (0, 2, 4));
    assert!(server.status().uptime > Duration::ZERO);
}

#[tokio::test]
async fn the_health_page_needs_no_token() {
    let gate = Gate::new();
    let mut http = on_loopback();
    http.bearer.allow("secret");
    let rpc = gate.router().build().unwrap();
    let server = serve_with(rpc.http_with(http), with_health()).await;
    let mut client = Client::connect(server.local_addr()).await;
    let foreign = "GET /health?x HTTP/1.1\r\nHost: 10.0.0.1\r\nOrigin: null\r\n\r\n";
    for request in [&get("/health"), foreign] {
        let reply = client.ask(request).await;
        assert_eq!(reply.status, 200);
        let expected = json!({"status": "healthy", "service": "test", "version": "1.2.3"});
        assert_eq!(reply.json(), expected);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    for path in ["/health/", "/health/live/", "/health/ready/", "/health/?x"] {
        assert_eq!(client.ask(get(path)).await.status, 200, "{path}");
    }
    for path in ["/healthy", "/health//", "/health/live//", "/health/other/"] {
        assert_eq!(client.ask(get(path)).await.status, 404, "{path}");
    }
    let posted = post(PING);
    let posted = String::from_utf8(posted).unwrap().replacen("POST /", "POST /health", 1);
    let refused = client.ask(posted).await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(client.ask(get("/health/other")).await.status, 404);
}

#[tokio::test]
async fn reports_liveness_and_readiness() {
    for (answer, status, expected) in [
        (Some(Ok(())), 200, json!({"status": "ready", "checks": {"one": "ok", "two": "ok"}})),
        (
            Some(Err("is gone".to_owned())),
            503,
            json!({"status": "not ready", "checks": {"one": "ok", "two": "is gone"}}),
        ),
        (
            None,
            503,
            json!({"status": "not ready", "checks": {"one": "ok", "two": "no answer within 2 s"}}),
        ),
    ] {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let readiness = Readiness::default().check("one", || Box::pin(async { Ok(()) })).check(
            "two",
            move || {
                counted.fetch_add(1, Ordering::Relaxed);
                let answer = answer.clone();
                Box::pin(async move {
                    match answer {
                        Some(answer) => answer,
                        None => std::future::pending().await,
                    }
                })
            },
        );
        let (server, gate, mut waiting) =
            with_a_waiting_call(ServerConfig { readiness, ..with_health() }).await;
        let mut client = Client::connect(server.local_addr()).await;
        for _ in 0..2 {
            let live = client.ask(get("/health/live")).await;
            assert_eq!((live.status, live.json()), (200, json!({"status": "alive"})));
        }
        assert_eq!(runs.load(Ordering::Relaxed), 0, "liveness asks no component");
        let ready = client.ask(get("/health/ready")).await;
        assert_eq!((ready.status, ready.json()), (status, expected));
        client.ask(get("/health/ready")).await;
        assert!(runs.load(Ordering::Relaxed) >= 1);
        let stop = draining(&server).await;
        for (path, status, text) in
            [("/health/live", 200, "alive"), ("/health/ready", 503, "draining")]
        {
            let reply = Client::connect(server.local_addr()).await.ask(get(path)).await;
            assert_eq!((reply.status, reply.json()), (status, json!({"status": text})));
            let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
            let page = server.health_routes().oneshot(request).await.unwrap();
            assert_eq!(page.status(), status, "a page of another server: {path}");
        }
        gate.open(1);
        assert_eq!(waiting.reply().await.body, DONE.as_bytes());
        stop.await.unwrap();
    }
}

/// A check that fails.
type Run = fn() -> CheckFuture;

#[tokio::test]
async fn a_panic_of_a_health_check_fails_the_check() {
    let checks: [(&'static str, Run); 3] = [
        ("at once", || panic!("a secret")),
        ("when polled", || Box::pin(async { panic!("a secret") })),
        ("later", || {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("a secret")
            })
        }),
    ];
    let readiness = Readiness::default().check("works", || Box::pin(async { Ok(()) }));
    let readiness = checks.into_iter().fold(readiness, |all, (name, run)| all.check(name, run));
    let problems = Problems::new(|| panic!("a secret"));
    let settings = ServerConfig { readiness, problems, ..with_health() };
    let (server, gate, mut waiting) = with_a_waiting_call(settings).await;
    let mut client = Client::connect(server.local_addr()).await;
    let panicked = "the check panicked";
    let checks = json!({
        "works": "ok", "at once": panicked, "when polled": panicked, "later": panicked,
    });
    let problem = json!({"component": "health", "reason": "the check of problems panicked"});
    for _ in 0..2 {
        let ready = client.ask(get("/health/ready")).await;
        let expected = json!({"status": "not ready", "checks": checks});
        assert_eq!((ready.status, ready.json()), (503, expected));
        let health = client.ask(get("/health")).await;
        assert_eq!((health.status, &health.json()["problems"]), (200, &json!([problem])));
    }
    gate.open(1);
    assert_eq!(waiting.reply().await.body, DONE.as_bytes());
}

#[tokio::test]
async fn checks_of_clones_are_not_lost() {
    let fine: Run = || Box::pin(async { Ok(()) });
    let first = Readiness::default().check("one", fine);
    let second = first.clone().check("two", || Box::pin(async { Err("is gone".to_owned()) }));
    for (readiness, status, checks) in
        [(first, 200, json!({"one": "ok"})), (second, 503, json!({"one": "ok", "two": "is gone"}))]
    {
        let settings = ServerConfig { readiness, ..with_health() };
        let server = serve_with(Router::new().build().unwrap(), settings).await;
        let reply = Client::connect(server.local_addr()).await.ask(get("/health/ready")).await;
        assert_eq!((reply.status, &reply.json()["checks"]), (status, &checks));
    }
}

#[tokio::test]
async fn has_no_health_page_by_default() {
    let server = serve(on_loopback()).await;
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(get("/health")).await.status, 404);
}

#[tokio::test]
async fn stop_completes_running_calls() {
    let (server, gate, mut client) = with_a_waiting_call(ServerConfig::default()).await;
    let mut idle = Client::connect(server.local_addr()).await;
    assert_eq!(idle.ask(post(PING)).await.status, 200);

    let stop = draining(&server).await;
    assert_eq!(idle.rest().await, b"", "a connection without a call ends");
    assert_eq!(server.status().in_flight, 1);
    assert!(!stop.is_finished());

    gate.open(1);
    let reply = client.reply().await;
    assert_eq!(reply.body, DONE.as_bytes());
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(client.rest().await, b"");
    let drained = in_time("the server to stop", stop).await.unwrap();
    assert_eq!((drained.in_flight, drained.aborted, drained.is_complete()), (1, 0, true));
    assert_eq!(server.status().phase, Phase::Stopped);
    assert!(TcpStream::connect(server.local_addr()).await.is_err());
}

#[tokio::test]
async fn a_draining_server_refuses_new_connections_with_503() {
    let (server, gate, _client) = with_a_waiting_call(with_health()).await;
    let stop = draining(&server).await;

    let mut late = Client::connect(server.local_addr()).await;
    until("the late connection", || server.status().connections == 2).await;
    let reply = late.ask(post(PING)).await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(reply.header("retry-after"), Some("1"));
    let error = reply.json();
    assert_eq!(error["error"]["code"], code::BUSY);
    assert_eq!(error["error"]["data"]["status"], 503);
    assert_eq!(error.get("id"), Some(&serde_json::Value::Null));
    assert_eq!(late.rest().await, b"");

    let mut prober = Client::connect(server.local_addr()).await;
    let reply = prober.ask(get("/health")).await;
    assert_eq!((reply.status, &reply.json()["status"]), (503, &json!("draining")));
    assert_eq!(prober.rest().await, b"", "a prober does not hold the server up");

    assert_eq!(gate.entered(), 1, "no other call has run");
    gate.open(1);
    assert!(in_time("the server to stop", stop).await.unwrap().is_complete());
}

#[tokio::test]
async fn a_server_that_closes_its_socket_answers_earlier_connections() {
    let settings = ServerConfig { drain_mode: DrainMode::Close, ..with_health() };
    let (server, gate, mut client) = with_a_waiting_call(settings).await;
    let mut early = Client::connect(server.local_addr()).await;
    let stop = draining(&server).await;
    in_time("the socket to close", async {
        while TcpStream::connect(server.local_addr()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // Its request arrives late.
    let reply = early.ask(post(PING)).await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert_eq!(early.rest().await, b"");
    gate.open(1);
    let reply = client.reply().await;
    assert_eq!((&*reply.body, reply.header("connection")), (DONE.as_bytes(), Some("close")));
    assert!(in_time("the server to stop", stop).await.unwrap().is_complete());
}

#[tokio::test]
async fn interrupts_calls_after_the_drain_timeout() {
    let settings = ServerConfig { drain_timeout: Duration::from_millis(50), ..Default::default() };
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    let calls = ["wait", "work", "block"]
        .map(|method| post(format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#)));
    let mut clients = Vec::new();
    for call in calls {
        let mut client = Client::connect(server.local_addr()).await;
        client.send(call).await;
        clients.push(client);
    }
    until("the calls to wait", || gate.entered() == 3).await;

    let drained = in_time("the server to stop", server.stop()).await;
    assert_eq!((drained.in_flight, drained.aborted, drained.is_complete()), (3, 3, false));
    assert!(drained.duration >= Duration::from_millis(50));
    for mut client in clients {
        assert_eq!(client.rest().await, b"", "no reply");
    }
    until("the cancellation of both", || gate.cancelled() == 2).await;
    assert_eq!((server.status().in_flight, server.status().connections), (0, 0));
}

#[tokio::test]
async fn stop_can_be_awaited_several_times() {
    let (server, gate, mut client) = with_a_waiting_call(ServerConfig::default()).await;
    let (one, other) = (draining(&server).await, draining(&server).await);
    let observer = server.clone();
    let stopped = tokio::spawn(async move { observer.stopped().await });
    assert!(!one.is_finished() && !other.is_finished() && !stopped.is_finished());
    gate.open(1);
    assert_eq!(client.reply().await.body, DONE.as_bytes());
    for stop in [one, other] {
        assert!(in_time("the server to stop", stop).await.unwrap().is_complete());
    }
    in_time("`stopped` to return", stopped).await.unwrap();
    let drained = in_time("the stopped server to stop", server.stop()).await;
    assert_eq!((drained.in_flight, drained.aborted), (0, 0));
    assert_eq!(server.status().phase, Phase::Stopped);
}

#[tokio::test]
async fn stop_can_be_resumed_after_its_future_is_dropped() {
    let (server, gate, mut client) = with_a_waiting_call(ServerConfig::default()).await;
    let stop = draining(&server).await;
    stop.abort();
    assert!(in_time("the abort", stop).await.unwrap_err().is_cancelled());
    assert_eq!(server.status().phase, Phase::Draining);
    gate.open(1);
    assert_eq!(client.reply().await.body, DONE.as_bytes());
    assert!(in_time("the server to stop", server.stop()).await.is_complete());
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let server = serve(on_loopback()).await;
    let mut silent = Client::connect(server.local_addr()).await;
    until("the connection", || server.status().connections == 1).await;
    let drained = in_time("the server to stop", server.stop()).await;
    assert_eq!(drained.in_flight, 0);
    assert!(drained.duration < Duration::from_secs(8), "{drained:?}");
    assert_eq!(silent.rest().await, b"");
}

#[tokio::test]
async fn a_port_can_be_bound_again_after_stop() {
    let first = serve(on_loopback()).await;
    let mut client = Client::connect(first.local_addr()).await;
    assert_eq!(client.ask(post("[]")).await.status, 200);
    first.stop().await;
    let rpc = Gate::new().router().build().unwrap();
    let second = Server::bind(first.local_addr()).serve(rpc).await.unwrap();
    assert_eq!(second.local_addr(), first.local_addr());
    let mut client = Client::connect(second.local_addr()).await;
    assert_eq!(client.ask(post(PING)).await.body, PONG.as_bytes());
}

#[tokio::test]
async fn serves_on_a_given_listener() {
    let std = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tokio = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rows = [(std.local_addr(), Server::bind(std)), (tokio.local_addr(), Server::bind(tokio))];
    for (address, server) in rows {
        let server = server.serve(Gate::new().router().build().unwrap()).await.unwrap();
        assert_eq!(server.local_addr(), address.unwrap());
        let mut client = Client::connect(server.local_addr()).await;
        assert_eq!(client.ask(post(PING)).await.body, PONG.as_bytes());
    }
}

#[tokio::test]
async fn a_server_continues_when_its_handle_is_dropped() {
    let server = serve(on_loopback()).await;
    let address = server.local_addr();
    drop(server);
    let mut client = Client::connect(address).await;
    assert_eq!(client.ask(post("[]")).await.status, 200);
}

#[tokio::test]
async fn a_failed_bind_names_the_address() {
    let taken = serve(on_loopback()).await.local_addr().to_string();
    for address in [taken.as_str(), "127.0.0.1:99999", "nonsense"] {
        let rpc = Router::new().build().unwrap();
        let error = Server::bind(address).serve(rpc).await.unwrap_err();
        assert_eq!(error.to_string(), format!("cannot listen on {address}"));
        assert!(error.source().is_some(), "the system's reason is the source");
        assert!(matches!(error, ServeError::Bind { .. }));
    }
}

#[tokio::test]
async fn a_port_and_handlers_make_a_server() {
    let handlers = Router::new().method("ping", || "pong");
    let server = create_server(Config { port: 0, handlers }).await.unwrap();
    assert_eq!(server.local_addr().ip(), Ipv4Addr::LOCALHOST);
    let mut client = Client::connect(server.local_addr()).await;
    assert_eq!(client.ask(post(PING)).await.body, PONG.as_bytes());

    let port = server.local_addr().port();
    let error = create_server(Config { port, handlers: Router::new() }).await.unwrap_err();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    assert_eq!(error.to_string(), format!("cannot listen on {address}"));

    let handlers = Router::new().method("same", || 1).method("same", || 2);
    let error = create_server(Config { port: 0, handlers }).await.unwrap_err();
    assert!(matches!(error, ServeError::Build(_)), "{error}");
}

#[tokio::test]
async fn rejects_invalid_configurations() {
    let rows = [
        ("connections", ServerConfig { connections: 0, ..Default::default() }),
        ("head_bytes", ServerConfig { head_bytes: 100, ..Default::default() }),
    ];
    for (name, settings) in rows {
        let rpc = Router::new().build().unwrap();
        let error = Server::bind("127.0.0.1:0").settings(settings).serve(rpc).await.unwrap_err();
        assert!(matches!(error, ServeError::Setting { setting, .. } if setting == name), "{error}");
    }
}

#[tokio::test]
async fn limits_the_size_of_heads() {
    let settings = ServerConfig { head_bytes: 8 * 1024, ..Default::default() };
    let rpc = Router::new().method("ping", || "pong").build().unwrap();
    let server = serve_with(rpc, settings).await;
    for (length, status) in [(4 * 1024, 200), (16 * 1024, 431)] {
        let mut client = Client::connect(server.local_addr()).await;
        let head = format!("X-Long: {}\r\n", "x".repeat(length));
        assert_eq!(client.ask(post_with(&head, PING)).await.status, status, "{length}");
    }
}

/// A tower service that panics, in the first poll or later.
async fn panics(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    if request.uri().path() == "/later" {
        tokio::task::yield_now().await;
    }
    panic!("the service around the calls")
}

#[tokio::test]
async fn a_service_that_panics_fails_its_request() {
    let server = Server::bind("127.0.0.1:0").serve_http(tower::service_fn(panics)).await.unwrap();
    for path in ["/now", "/later"] {
        let mut client = Client::connect(server.local_addr()).await;
        let reply = client.ask(get(path)).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (500, &json!(-32603)), "{path}");
        assert_eq!(client.ask(get(path)).await.status, 500, "{path}: the connection goes on");
    }
    until("the connections to be gone", || server.status().connections == 0).await;
    assert_eq!(server.status().in_flight, 0);
}
