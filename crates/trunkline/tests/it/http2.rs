//! HTTP/2 by prior knowledge (h2c), driven frame by frame.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use trunkline::server::{Health, Readiness, ServerConfig};
use trunkline::{ServerHandle, code};

use crate::support::{
    CALL, DONE, Gate, RESULT, WAIT, in_time, on_loopback, serve, serve_with, until,
};

/// A connection, whose frames are read and written by a separate task.
#[derive(Clone)]
struct Connection(SendRequest<Bytes>);

impl Connection {
    async fn open(server: &ServerHandle) -> Self {
        let stream = TcpStream::connect(server.local_addr()).await.unwrap();
        Self::with_pings(stream).await.0
    }

    async fn with_pings(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> (Self, PingPong) {
        let handshake = h2::client::handshake(stream);
        let (requests, mut connection) = in_time("HTTP/2", handshake).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        tokio::spawn(connection);
        (Self(requests), pings)
    }

    async fn ask(
        &self,
        authority: &str,
        body: impl Into<Bytes>,
    ) -> Result<(StatusCode, Bytes), h2::Error> {
        let request = Request::post(format!("http://{authority}/"))
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        let mut requests = in_time("a stream", self.0.clone().ready()).await?;
        let (response, mut sender) = requests.send_request(request, false)?;
        sender.send_data(body.into(), true)?;
        read(in_time("a response", response).await?).await
    }
}

async fn read(response: Response<h2::RecvStream>) -> Result<(StatusCode, Bytes), h2::Error> {
    let (parts, mut body) = response.into_parts();
    let mut whole = Vec::new();
    while let Some(data) = in_time("a body", body.data()).await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        whole.extend_from_slice(&data);
    }
    Ok((parts.status, whole.into()))
}

#[tokio::test]
async fn calls_and_refusals_share_a_connection() {
    let server = serve(on_loopback()).await;
    let connection = Connection::open(&server).await;
    let (status, body) = connection.ask("localhost", CALL).await.unwrap();
    assert_eq!((status, body.as_ref()), (StatusCode::OK, RESULT.as_bytes()));

    let large = vec![b' '; (1 << 20) + 1];
    for (authority, body, status, code) in [
        ("evil.example", CALL.as_bytes().to_vec(), 403, code::FORBIDDEN),
        ("user@localhost", CALL.as_bytes().to_vec(), 400, code::REFUSED),
        ("localhost", large, 413, code::REFUSED),
    ] {
        let (found, body) = connection.ask(authority, body).await.unwrap();
        assert_eq!(found.as_u16(), status, "{authority}");
        let error: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(error["error"]["code"], code, "{authority}");
        assert_eq!(error["error"]["data"]["status"], status, "{authority}");
    }
    let (status, body) = connection.ask("[::1]:80", CALL).await.unwrap();
    assert_eq!((status, body.as_ref()), (StatusCode::OK, RESULT.as_bytes()));
    assert_eq!(server.status().total_connections, 1);
}

#[tokio::test]
async fn a_hundred_calls_at_once() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), ServerConfig::default()).await;
    let connection = Connection::open(&server).await;
    let mut calls = JoinSet::new();
    for id in 0..100 {
        let connection = connection.clone();
        calls.spawn(async move {
            let body = json!({"jsonrpc": "2.0", "method": "wait", "id": id}).to_string();
            let (status, body) = connection.ask("localhost", body).await.unwrap();
            let expected = json!({"jsonrpc": "2.0", "result": "done", "id": id});
            assert_eq!(status, StatusCode::OK);
            assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
        });
    }
    until("all calls to run at once", || gate.entered() == 100).await;
    assert_eq!(server.status().in_flight, 100);
    gate.open(100);
    in_time("the replies", calls.join_all()).await;
}

#[tokio::test]
async fn a_panic_of_a_health_check_does_not_end_other_streams() {
    let gate = Gate::new();
    let readiness = Readiness::default().check("bad", || panic!("a secret"));
    let (path, service, version) = ("/health".to_owned(), String::new(), String::new());
    let health = Some(Health { path, service, version });
    let settings = ServerConfig { health, readiness, ..Default::default() };
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    let connection = Connection::open(&server).await;
    let waiting = tokio::spawn({
        let connection = connection.clone();
        async move { connection.ask("localhost", WAIT).await }
    });
    until("the call to wait", || gate.entered() == 1).await;
    let request = Request::get("http://localhost/health/ready").body(()).unwrap();
    let mut requests = in_time("a stream", connection.0.clone().ready()).await.unwrap();
    let (response, _) = requests.send_request(request, true).unwrap();
    let response = in_time("a response", response).await.unwrap();
    let (status, body) = read(response).await.unwrap();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let page: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(page["checks"], json!({"bad": "the check panicked"}));
    gate.open(1);
    let (_, body) = waiting.await.unwrap().unwrap();
    assert_eq!(body, DONE);
}

/// Streams over the limit wait.
#[tokio::test]
async fn streams_are_limited() {
    let gate = Gate::new();
    let settings = ServerConfig { streams: 2, ..Default::default() };
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    let connection = Connection::open(&server).await;
    assert!(connection.ask("localhost", "[]").await.is_ok(), "the settings were received");
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        let connection = connection.clone();
        calls.spawn(async move { connection.ask("localhost", WAIT).await.unwrap() });
    }
    until("calls to wait", || gate.entered() == 2).await;
    gate.open(5);
    for (_, body) in in_time("the replies", calls.join_all()).await {
        assert_eq!(body, DONE);
    }
    assert_eq!(gate.entered(), 5);
}

#[tokio::test]
async fn a_stream_that_is_reset_cancels_its_call() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), ServerConfig::default()).await;
    let connection = Connection::open(&server).await;
    let (one, other) = (connection.clone(), connection.clone());
    let work = r#"{"jsonrpc":"2.0","method":"work","id":1}"#;
    let cancelled = tokio::spawn(async move { one.ask("localhost", work).await });
    let other = tokio::spawn(async move { other.ask("localhost", WAIT).await });
    until("both calls", || gate.entered() == 2).await;
    cancelled.abort();
    until("the cancellation", || gate.cancelled() == 1).await;
    gate.open(1);
    let (status, body) = in_time("the other reply", other).await.unwrap().unwrap();
    assert_eq!((status, body.as_ref()), (StatusCode::OK, DONE.as_bytes()));
}

#[tokio::test]
async fn stop_completes_running_streams() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), ServerConfig::default()).await;
    let connection = Connection::open(&server).await;
    let waiting = connection.clone();
    let call = tokio::spawn(async move { waiting.ask("localhost", WAIT).await });
    until("the call to wait", || gate.entered() == 1).await;
    let stopping = server.clone();
    let stop = tokio::spawn(async move { stopping.stop().await });
    in_time("the connection to refuse", async {
        while connection.ask("localhost", "[]").await.is_ok_and(|(status, _)| status != 503) {}
    })
    .await;
    gate.open(1);
    let (status, body) = in_time("the reply", call).await.unwrap().unwrap();
    assert_eq!((status, body.as_ref()), (StatusCode::OK, DONE.as_bytes()));
    assert!(in_time("the server to stop", stop).await.unwrap().is_complete());
}

/// The head timeout does not apply to frames between requests.
#[tokio::test]
async fn pings_do_not_end_an_idle_connection() {
    let head_timeout = Duration::from_millis(500);
    let settings = ServerConfig { head_timeout, ..Default::default() };
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), settings).await;
    for first in [1, 3, 24] {
        let stream = SplitPreface::connect(&server, first).await;
        let (connection, mut pings) = Connection::with_pings(stream).await;
        assert!(connection.ask("localhost", "[]").await.is_ok());
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < head_timeout * 2 {
            let pong = in_time("a pong", pings.ping(Ping::opaque())).await;
            assert!(pong.is_ok(), "{first} bytes of the preface first");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(connection.ask("localhost", "[]").await.is_ok());
    }
}

/// A connection whose first bytes are sent separately.
struct SplitPreface {
    stream: TcpStream,
    sent: usize,
}

impl SplitPreface {
    async fn connect(server: &ServerHandle, count: usize) -> Self {
        let mut stream = TcpStream::connect(server.local_addr()).await.unwrap();
        stream.write_all(&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..count]).await.unwrap();
        // Gives the server time to read them separately, which the test cannot observe.
        tokio::time::sleep(Duration::from_millis(10)).await;
        Self { stream, sent: count }
    }
}

impl AsyncRead for SplitPreface {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for SplitPreface {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.sent > 0 {
            let skipped = bytes.len().min(std::mem::take(&mut self.sent));
            return Poll::Ready(Ok(skipped));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection with a reply that takes longer than the idle timeout is not idle.
#[tokio::test]
async fn a_slow_reply_is_not_idle() {
    let idle_timeout = Duration::from_millis(500);
    let rpc = trunkline::Router::new().method("large", || "x".repeat(8 << 20)).build().unwrap();
    let server = serve_with(rpc, ServerConfig { idle_timeout, ..Default::default() }).await;
    let connection = Connection::open(&server).await;
    let request = Request::post("http://localhost/")
        .header("content-type", "application/json")
        .body(())
        .unwrap();
    let mut requests = in_time("a stream", connection.0.clone().ready()).await.unwrap();
    let (response, mut sender) = requests.send_request(request, false).unwrap();
    sender.send_data(r#"{"jsonrpc":"2.0","method":"large","id":1}"#.into(), true).unwrap();
    let mut body = response.await.unwrap().into_body();
    let mut read = 0;
    while let Some(data) = in_time("a body", body.data()).await {
        let data = data.unwrap_or_else(|error| panic!("{error} after {read}"));
        read += data.len();
        body.flow_control().release_capacity(data.len()).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(read > 8 << 20, "{read}");
}
