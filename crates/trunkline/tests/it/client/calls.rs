//! Calls over HTTP to conforming servers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::client::{Client, Error, Http, Transport, TransportError};
use trunkline::{Params, Router, code};

use super::peer::{Answer, Peer};
use crate::support::{in_time, on_loopback, serve, until};

fn client_of(server: &trunkline::ServerHandle) -> Client {
    Client::new(Http::connect(&format!("http://{}", server.local_addr())).unwrap())
}

#[tokio::test]
async fn results_and_errors() {
    let server = serve(on_loopback()).await;
    let client = client_of(&server);
    let by_position = client.call::<i64>("subtract", [42, 23]).await;
    assert_eq!(by_position.unwrap(), 19);
    let by_name = client.call::<i64>("subtract", json!({ "subtrahend": 23, "minuend": 42 })).await;
    assert_eq!(by_name.unwrap(), 19);
    client.call::<()>("null", ()).await.unwrap();
    client.notify("update", [1]).await.unwrap();

    let failed =
        client.call::<()>("fail", json!({ "code": 7, "message": "no", "data": null })).await;
    let error = failed.unwrap_err();
    let object = error.error_object().unwrap();
    assert_eq!((object.code(), object.message(), object.data().unwrap().get()), (7, "no", "null"));
    let unknown = client.call::<()>("nope", ()).await.unwrap_err();
    assert_eq!(unknown.error_object().unwrap().code(), code::METHOD_NOT_FOUND);
    let params = client.call::<()>("nope", "text").await.unwrap_err();
    assert!(matches!(params, Error::Params(_)), "{params:?}");
    let other = client.call::<Vec<i64>>("subtract", [42, 23]).await.unwrap_err();
    assert!(matches!(other, Error::Protocol(_)), "{other:?}");

    let status = server.status();
    assert_eq!(status.total_connections, 1, "a connection is used again");
}

#[tokio::test]
async fn reads_replies_that_arrive_in_parts() {
    let text = "a".repeat(300_000);
    let rpc = Router::new().method("long", move || text.clone()).build().unwrap();
    let server = trunkline::Server::bind("127.0.0.1:0").serve(rpc).await.unwrap();
    let client = client_of(&server);
    assert_eq!(client.call::<String>("long", ()).await.unwrap().len(), 300_000);

    let body = r#"{"jsonrpc":"2.0","id":1,"result":[1,2,3]}"#;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\n";
    for size in [1, 7, body.len()] {
        let mut answer = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        for chunk in body.as_bytes().chunks(size) {
            let text = std::str::from_utf8(chunk).unwrap();
            answer += &format!("{:x}\r\n{text}\r\n", chunk.len());
        }
        let peer = Peer::always(Answer::bytes(answer + "0\r\nX-Trailer: 1\r\n\r\n")).await;
        let client = Client::new(Http::connect(&peer.url).unwrap());
        assert_eq!(client.call::<Vec<i64>>("m", ()).await.unwrap(), [1, 2, 3], "{size}");
    }
}

#[tokio::test]
async fn ids_never_cross() {
    const CALLS: usize = 200;
    let peer = Peer::new(|body| {
        let call: Value = serde_json::from_str(body).unwrap();
        let reply = json!({ "jsonrpc": "2.0", "id": call["id"], "result": call["params"][0] });
        Answer::json(reply.to_string())
    })
    .await;
    let client = Client::new(Http::connect(&peer.url).unwrap());
    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            // Clones share their ids.
            let call = client.clone().call::<usize>("echo", [number]);
            tokio::spawn(async move { assert_eq!(call.await.unwrap(), number) })
        })
        .collect();
    for call in calls {
        in_time("a call", call).await.unwrap();
    }
    let id = |request: &String| {
        let body: Value = serde_json::from_str(request.lines().last().unwrap()).unwrap();
        body["id"].as_u64().unwrap()
    };
    let ids: HashSet<u64> = peer.requests().iter().map(id).collect();
    assert_eq!(ids.len(), CALLS);
}

#[tokio::test]
async fn calls_time_out() {
    let rpc = Router::new().method("never", std::future::pending::<()>).build().unwrap();
    let server = trunkline::Server::bind("127.0.0.1:0").serve(rpc).await.unwrap();
    let client = client_of(&server);
    let url = format!("http://{}", server.local_addr());
    let short = client.call::<()>("never", ()).timeout(Duration::from_millis(50)).into_future();
    let long = tokio::spawn(client.call::<()>("never", ()).timeout(Duration::MAX).into_future());
    let error = in_time("the short call", short).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{url} did not answer within 50 ms"));
    assert!(error.is_timeout() && !long.is_finished());
    long.abort();
    let notified = client.notify("never", ()).timeout(Duration::from_millis(50));
    assert!(in_time("the notification", notified.into_future()).await.unwrap_err().is_timeout());
    until("no request to be left", || server.status().in_flight == 0).await;
}

#[tokio::test]
async fn without_a_server() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(Http::connect(&url).unwrap());
    let error = client.call::<()>("m", ()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot connect to {url}"));
    let Error::Transport(error) = error else { panic!("{error:?}") };
    assert!(error.is_unsent());
    assert!(matches!(error, TransportError::Connect { .. }));
}

/// After a restart of the server, broken connections are not used.
#[tokio::test]
async fn reconnects_to_a_restarted_server() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(Http::connect(&format!("http://{address}")).unwrap());
    for _ in 0..3 {
        let rpc = Router::new().method("ping", || "pong").build().unwrap();
        let server = trunkline::Server::bind(address).serve(rpc).await.unwrap();
        for _ in 0..2 {
            assert_eq!(client.call::<String>("ping", ()).await.unwrap(), "pong");
        }
        server.stop().await;
        let down = client.call::<String>("ping", ()).await.unwrap_err();
        assert!(matches!(down, Error::Transport(TransportError::Connect { .. })), "{down:?}");
    }
}

/// For programs whose configuration selects a transport.
#[tokio::test]
async fn supports_boxed_and_shared_transports() {
    let server = serve(on_loopback()).await;
    let http = Http::connect(&format!("http://{}", server.local_addr())).unwrap();
    let here = Router::new().method("subtract", |Params((a, b)): Params<(i64, i64)>| a - b);
    let boxed: [Box<dyn Transport>; 2] = [Box::new(http.clone()), Box::new(here.build().unwrap())];
    let shared: Arc<dyn Transport> = Arc::new(http);
    assert_eq!(shared.target(), boxed[0].target());
    let shared = [Client::new(Arc::clone(&shared)), Client::from(shared)];
    for client in boxed.map(Client::new).into_iter().chain(shared) {
        assert_eq!(client.call::<i64>("subtract", [42, 23]).await.unwrap(), 19);
    }
}
