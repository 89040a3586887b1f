//! The number of connections of calls.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use trunkline::client::{Client, ClientConfig, Error, Http, TransportError};

use super::peer::{Answer, Peer};
use crate::support::in_time;

/// The body of a reply in chunks of `size` bytes.
fn chunked(body: &str, size: usize) -> String {
    let chunk =
        |chunk: &[u8]| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap());
    body.as_bytes().chunks(size).map(chunk).chain(["0\r\n\r\n".to_owned()]).collect()
}

/// Makes calls in sequence. `framed` frames the body of each reply.
async fn check(name: &str, head: &str, framed: fn(&str) -> String) {
    let head = format!("HTTP/1.1 {head}\r\n");
    let peer = Peer::new(move |request| {
        let request: Value = serde_json::from_str(request).unwrap();
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, request["id"]);
        Answer::keep_alive(head.clone() + &framed(&reply))
    })
    .await;
    let client = peer.client(Duration::from_secs(5), 1 << 20);
    for _ in 0..10 {
        // The result does not matter.
        let _ = in_time(name, client.call::<i64>("m", ()).into_future()).await;
    }
    assert_eq!((peer.requests().len(), peer.connections()), (10, 1), "{name}");
}

#[tokio::test]
async fn sequential_calls_share_a_connection() {
    let json = "200 OK\r\nContent-Type: application/json";
    let announced = |reply: &str| format!("Content-Length: {}\r\n\r\n{reply}", reply.len());
    let in_one = |reply: &str| format!("Transfer-Encoding: chunked\r\n\r\n{}", chunked(reply, 999));
    let in_many = |reply: &str| format!("Transfer-Encoding: chunked\r\n\r\n{}", chunked(reply, 7));
    let with_trailers = |reply: &str| {
        let body = chunked(reply, 20).replace("0\r\n\r\n", "0\r\nX-Sum: 1\r\n\r\n");
        format!("Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
    };
    check("an announced length", json, announced).await;
    check("one chunk", json, in_one).await;
    check("many chunks", json, in_many).await;
    check("chunks and trailers", json, with_trailers).await;
    check("no body", "204 No Content", |_| "\r\n".to_owned()).await;
    check("a page", "502 Bad Gateway", |_| "Content-Length: 1\r\n\r\nx".to_owned()).await;
    let page = |_: &str| format!("Transfer-Encoding: chunked\r\n\r\n{}", chunked("page", 2));
    check("a page in chunks", "502 Bad Gateway", page).await;
}

/// The server closes each connection after a reply without `Connection: close`.
#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let peer = Peer::new(|request| {
        let request: Value = serde_json::from_str(request).unwrap();
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, request["id"]);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
        Answer::bytes(format!("{head}\r\nContent-Length: {}\r\n\r\n{reply}", reply.len()))
    })
    .await;
    let client = peer.client(Duration::from_secs(5), 1 << 20);
    for _ in 0..50 {
        let ended = in_time("a call", client.call::<i64>("m", ()).into_future()).await;
        assert_eq!(ended.unwrap(), 1);
    }
    assert_eq!((peer.requests().len(), peer.connections()), (50, 50));
}

/// The server closes all connections, often before it receives the request.
#[tokio::test]
async fn does_not_reconnect_after_a_new_connection_fails() {
    const CALLS: usize = 200;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    // A separate thread, which closes the connection while the client prepares the request.
    let hanging_up = std::thread::spawn(move || {
        while count.fetch_add(1, Ordering::Relaxed) < CALLS {
            drop(listener.accept().unwrap());
        }
    });
    let http = Http::connect(&format!("http://{address}")).unwrap();
    let client = Client::with_config(http, ClientConfig { retry: None, ..ClientConfig::default() });
    for call in 1..=CALLS {
        let ended = in_time("a call", client.call::<i64>("m", ()).into_future()).await;
        let Err(Error::Transport(error)) = ended else { panic!("{ended:?}") };
        let is_right =
            matches!(error, TransportError::Connect { .. } | TransportError::Broken { .. });
        assert!(is_right, "{error:?}");
        // The thread has counted the connection that it waits for.
        let accepted = accepted.load(Ordering::Relaxed);
        assert!(accepted <= call + 1, "{accepted} connections for {call} calls");
    }
    hanging_up.join().unwrap();
}
