//! A server that sends the replies of a test, byte for byte, and records requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use trunkline::client::http::HttpClientConfig;
use trunkline::client::{self, Client, Http, Retry};

/// The reply of a peer.
#[derive(Clone)]
pub(super) struct Answer {
    bytes: Vec<u8>,
    then: Then,
}

/// The behaviour after the bytes of a reply.
#[derive(Clone)]
enum Then {
    Close,
    /// Reads the next request of the connection.
    KeepAlive,
    /// Sends these bytes repeatedly, as fast as the client reads.
    Flood(Vec<u8>),
    /// Sends these bytes every few milliseconds.
    Drip(&'static str),
}

/// A running peer, which stops when it is dropped.
pub(super) struct Peer {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Answer {
    /// Sends these bytes, then closes the connection.
    pub(super) fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), then: Then::Close }
    }

    /// Sends these bytes, then reads the next request.
    pub(super) fn keep_alive(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), then: Then::KeepAlive }
    }

    /// An HTTP reply. `head` is the status and header lines.
    pub(super) fn http(head: &str, body: impl AsRef<[u8]>) -> Self {
        let (head, body) = (head.replace('\n', "\r\n"), body.as_ref());
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n");
        Self::bytes([head.as_bytes(), b"\r\n", body].concat())
    }

    /// 200, with JSON.
    pub(super) fn json(body: impl AsRef<[u8]>) -> Self {
        Self::http("200 OK\nContent-Type: application/json", body)
    }

    /// Another status, with JSON.
    pub(super) fn refusal(status: &str, body: &str) -> Self {
        Self::http(&format!("{status}\nContent-Type: application/json"), body)
    }

    /// Sends these bytes, then `block` repeatedly.
    pub(super) fn flood(bytes: impl Into<Vec<u8>>, block: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), then: Then::Flood(block) }
    }

    /// Sends these bytes, then `drop` repeatedly and slowly.
    pub(super) fn drip(bytes: impl Into<Vec<u8>>, drop: &'static str) -> Self {
        Self { bytes: bytes.into(), then: Then::Drip(drop) }
    }
}

impl Peer {
    /// Starts a peer. `answer` receives the body of each request.
    pub(super) async fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&requests), Arc::new(answer));
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::Relaxed);
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    while let Some((head, body)) = read(&mut stream).await {
                        log.lock().unwrap().push(head + &body);
                        write(stream.get_mut(), answer(&body)).await;
                    }
                });
            }
        });
        Self { url, requests, connections, accepting }
    }

    /// Starts a peer that always sends the same reply.
    pub(super) async fn always(answer: Answer) -> Self {
        Self::new(move |_| answer.clone()).await
    }

    /// The requests so far: heads in lower case, and bodies.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of connections so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// A client of this peer with these limits.
    pub(super) fn client(&self, timeout: Duration, max_reply: usize) -> Client {
        let settings = HttpClientConfig { max_reply, ..HttpClientConfig::default() };
        let http = Http::with_config(self.url.parse().unwrap(), settings).unwrap();
        let retry = Some(Retry::default());
        Client::with_config(http, client::ClientConfig { timeout, retry })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Reads the next request, if there is one.
async fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let mut lines = head.lines().filter_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; lines.next().map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// Sends a reply. Ends when the client closes the connection.
async fn write(stream: &mut TcpStream, Answer { bytes, then }: Answer) {
    if stream.write_all(&bytes).await.is_err() {
        return;
    }
    match then {
        Then::KeepAlive => {}
        Then::Close => {
            // Closing with unread bytes would reset the connection and lose the reply.
            let _ = stream.shutdown().await;
            let _ = stream.read(&mut [0]).await;
        }
        Then::Flood(block) => while stream.write_all(&block).await.is_ok() {},
        Then::Drip(drop) => {
            while stream.write_all(drop.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}
