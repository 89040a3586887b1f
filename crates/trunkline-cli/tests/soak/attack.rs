//! Clients that send requests and never read the replies.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

#[derive(Clone, Copy)]
pub(crate) enum Attack {
    /// Each sends one batch whose reply has 17 MB.
    Batches { connections: usize },
    /// The same in each stream of HTTP/2 connections.
    Http2Batches { connections: usize, streams: usize },
    /// Each opens a stream and repeatedly calls a tool whose results have 1 MB.
    Sse { clients: usize, calls: usize },
    /// Each sends a body of 1 MiB without its last byte.
    Bodies { connections: usize },
    /// Each repeats a change whose params have 1 MB in 120 levels.
    Nested { connections: usize },
    /// Each repeats `create_table` with 60,000 columns.
    WideTables { connections: usize },
}

impl Attack {
    /// The further arguments of the server.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Nested { .. } | Self::WideTables { .. } => {
                &["--db", "a.db", "--writable", "--audit-log", "audit.jsonl"]
            }
            _ => &[],
        }
    }
}

/// Runs an attack for a while. The connections are open until the returned value is dropped.
pub(crate) fn run(attack: Attack, address: SocketAddr, hold: Duration) -> Runtime {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.unwrap();
    runtime.block_on(async {
        let mut attackers = JoinSet::new();
        match attack {
            Attack::Batches { connections } => {
                let request = post("/", &batch());
                for _ in 0..connections {
                    attackers.spawn(stall(address, request.clone()));
                }
            }
            Attack::Http2Batches { connections, streams } => {
                for _ in 0..connections {
                    attackers.spawn(http2(address, streams));
                }
            }
            Attack::Sse { clients, calls } => {
                for _ in 0..clients {
                    attackers.spawn(sse(address, calls));
                }
            }
            Attack::Bodies { connections } => {
                let mut request = post("/", &format!("\"{}\"", "x".repeat((1 << 20) - 2)));
                request.pop();
                let request = Bytes::from(request);
                for _ in 0..connections {
                    attackers.spawn(stall(address, request.clone().into()));
                }
            }
            Attack::Nested { connections } => {
                let request = Bytes::from(post("/", &nested_change()));
                for _ in 0..connections {
                    attackers.spawn(repeat(address, request.clone()));
                }
            }
            Attack::WideTables { connections } => {
                let request = Bytes::from(post("/", &wide_table()));
                for _ in 0..connections {
                    attackers.spawn(repeat(address, request.clone()));
                }
            }
        }
        sleep(hold).await;
        // The tasks never end by themselves.
        attackers.detach_all();
    });
    runtime
}

/// A batch of 56 KB.
fn batch() -> String {
    let members: Vec<String> = (0..1_000)
        .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"rpc.discover"}}"#))
        .collect();
    format!("[{}]", members.join(","))
}

/// A change with 1 MB of numbers in the innermost of 120 arrays.
fn nested_change() -> String {
    let numbers = vec!["123456789"; 100_000].join(",");
    let (open, close) = ("[".repeat(110), "]".repeat(110));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"db.delete_record","params":{{"table_name":"t","filters":{{"a":{{"in":{open}{numbers}{close}}}}}}}}}"#
    )
}

fn wide_table() -> String {
    let columns: Vec<String> = (0..60_000).map(|index| format!(r#""c{index}":"TEXT""#)).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"db.create_table","params":{{"table_name":"t","schema":{{{}}}}}}}"#,
        columns.join(",")
    )
}

/// A call of a tool whose result has 1 MB.
pub(crate) fn large_result(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"execute_raw_query","arguments":{{"query":"SELECT hex(zeroblob(500000))"}}}}}}"#
    )
}

pub(crate) fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    (head + body).into_bytes()
}

/// Sends a request and reads nothing. The server may end the connection.
async fn stall(address: SocketAddr, request: Vec<u8>) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let _ = socket.write_all(&request).await;
    std::future::pending::<()>().await;
}

/// Sends a request again when its reply has arrived.
async fn repeat(address: SocketAddr, request: Bytes) {
    loop {
        let mut socket = TcpStream::connect(address).await.unwrap();
        loop {
            let mut reply = [0; 16 << 10];
            let is_sent = socket.write_all(&request).await.is_ok();
            // The replies are errors of less than 16 KiB.
            if !is_sent || !matches!(socket.read(&mut reply).await, Ok(1..)) {
                break;
            }
        }
    }
}

async fn http2(address: SocketAddr, streams: usize) {
    let socket = TcpStream::connect(address).await.unwrap();
    let (requests, connection): (SendRequest<Bytes>, _) =
        h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    let body = Bytes::from(batch());
    let mut responses: Vec<ResponseFuture> = Vec::new();
    for _ in 0..streams {
        let request =
            http::Request::post("http://localhost/").header("content-type", "application/json");
        let mut requests = requests.clone().ready().await.unwrap();
        let (response, mut sender) =
            requests.send_request(request.body(()).unwrap(), false).unwrap();
        sender.reserve_capacity(body.len());
        sender.send_data(body.clone(), true).unwrap();
        responses.push(response);
    }
    std::future::pending::<()>().await;
    drop(responses);
}

async fn sse(address: SocketAddr, calls: usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut begun = String::new();
    while !begun.contains("sessionId=") || !begun.ends_with("\n\n\r\n") {
        let mut bytes = [0; 1024];
        let count = stream.read(&mut bytes).await.unwrap();
        begun += std::str::from_utf8(&bytes[..count]).unwrap();
    }
    let (_, rest) = begun.split_once("data: ").unwrap();
    let path = rest.lines().next().unwrap().to_owned();
    // The rest of the stream is not read.
    let mut socket = TcpStream::connect(address).await.unwrap();
    for id in 0..calls {
        let call = large_result(id);
        if socket.write_all(&post(&path, &call)).await.is_err() {
            break;
        }
        let mut reply = [0; 4096];
        // 202, or 503 when the server holds enough.
        if !matches!(timeout(Duration::from_secs(30), socket.read(&mut reply)).await, Ok(Ok(1..))) {
            break;
        }
    }
    std::future::pending::<()>().await;
    drop(stream);
}
