//! HTTP servers whose replies a test writes.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use trunkline::client::Http;
use trunkline_mcp::client::{Client, Error, McpClientConfig};

use crate::support::{in_time, until};

/// A server on a free port. It ends with the test's runtime.
pub(super) struct Script {
    pub(super) url: String,
    log: Log,
}

type Log = Arc<Mutex<Vec<Asked>>>;

/// A request that the server has received.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// `POST /mcp`.
    pub(super) line: String,
    headers: Vec<(String, String)>,
    /// The message, or null.
    pub(super) body: Value,
    /// Whether the client has closed the connection before the end of the reply.
    pub(super) is_dropped: bool,
}

/// The reply to a request.
pub(super) enum Answer {
    /// The whole reply.
    Text(String),
    /// A reply in pieces. The connection is closed after the last.
    Pieces(UnboundedReceiver<String>),
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The method of the message, or that of HTTP, or `response`.
    pub(super) fn method(&self) -> &str {
        match self.body["method"].as_str() {
            Some(method) => method,
            None if self.body.is_object() => "response",
            None => self.line.split(' ').next().unwrap_or_default(),
        }
    }
}

impl Script {
    pub(super) async fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let log = Log::default();
        let (shared, answer) = (Arc::clone(&log), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared), Arc::clone(&answer)));
            }
        });
        Self { url, log }
    }

    /// A client, whose configuration `change` completes.
    pub(super) async fn connect(
        &self,
        change: impl FnOnce(&mut McpClientConfig),
    ) -> Result<Client, Error> {
        let mut config = config();
        change(&mut config);
        in_time("to connect", Client::connect(Http::connect(&self.url).unwrap(), config)).await
    }

    pub(super) async fn client(&self) -> Client {
        self.connect(|_| {}).await.unwrap()
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.method().to_owned()).collect()
    }

    /// The requests of this method.
    pub(super) fn asked_for(&self, method: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.method() == method).collect()
    }

    /// Waits for a number of requests of this method.
    pub(super) async fn until(&self, method: &str, count: usize) -> Vec<Asked> {
        until(method, || self.asked_for(method).len() >= count).await;
        self.asked_for(method)
    }
}

pub(super) fn config() -> McpClientConfig {
    McpClientConfig::new("test-client", "1.0.0")
}

async fn serve(
    stream: TcpStream,
    log: Log,
    answer: Arc<impl Fn(&Asked) -> Answer>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some(asked) = read(&mut stream).await? else { return Ok(()) };
        let index = {
            let mut log = log.lock().unwrap();
            log.push(asked.clone());
            log.len() - 1
        };
        match answer(&asked) {
            Answer::Text(text) => stream.write_all(text.as_bytes()).await?,
            Answer::Pieces(mut pieces) => {
                loop {
                    let mut byte = [0];
                    tokio::select! {
                        biased;
                        piece = pieces.recv() => match piece {
                            Some(piece) => stream.write_all(piece.as_bytes()).await?,
                            None => return Ok(()),
                        },
                        _ = stream.read(&mut byte) => break,
                    }
                }
                log.lock().unwrap()[index].is_dropped = true;
                return Ok(());
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let split = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: Vec<(String, String)> = lines.iter().skip(1).filter_map(split).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    stream.read_exact(&mut body).await?;
    let line = lines.first().map(|line| line.trim_end_matches(" HTTP/1.1").to_owned());
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Asked { line: line.unwrap_or_default(), headers, body, is_dropped: false }))
}

/// A reply with this status line and further headers, and a body.
pub(super) fn http(head: &str, body: &str) -> Answer {
    let head = head.replace('\n', "\r\n");
    Answer::Text(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

pub(super) fn json_text(head: &str, body: &Value) -> Answer {
    http(&format!("{head}\nContent-Type: application/json"), &body.to_string())
}

pub(super) fn result_of(asked: &Asked, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result })
}

pub(super) fn result(asked: &Asked, result: &Value) -> Answer {
    json_text("200 OK", &result_of(asked, result))
}

pub(super) fn error(head: &str, asked: &Asked, code: i64, data: &Value) -> Answer {
    let error = json!({ "code": code, "message": "no", "data": data });
    json_text(head, &json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error }))
}

pub(super) fn accepted() -> Answer {
    http("202 Accepted", "")
}

pub(super) const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

pub(super) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// A stream of these events, which then ends.
pub(super) fn events(events: &[String]) -> Answer {
    let (sender, answer) = stream();
    for event in events {
        sender.send(event.clone()).unwrap();
    }
    answer
}

/// No reply: the connection is closed.
pub(super) fn closed() -> Answer {
    let (_, pieces) = unbounded_channel();
    Answer::Pieces(pieces)
}

/// No reply, while the client waits.
pub(super) fn silence() -> Answer {
    let (sender, pieces) = unbounded_channel();
    std::mem::forget(sender);
    Answer::Pieces(pieces)
}

/// A stream that the test continues.
pub(super) fn stream() -> (UnboundedSender<String>, Answer) {
    let (sender, pieces) = unbounded_channel();
    sender.send(STREAM.to_owned()).unwrap();
    (sender, Answer::Pieces(pieces))
}

/// The replies of a server of 2026-07-28 with two tools.
pub(super) fn modern(asked: &Asked) -> Answer {
    let result = |value: Value| result(asked, &value);
    match asked.method() {
        "server/discover" => result(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "resources": { "subscribe": true } },
        })),
        "tools/list" => result(tools()),
        "tools/call" => result(json!({ "resultType": "complete", "content": [] })),
        _ => error("404 Not Found", asked, -32601, &Value::Null),
    }
}

/// The replies of a server of 2025-11-25 with two tools, in this session.
pub(super) fn legacy(asked: &Asked, session: &str) -> Answer {
    match asked.method() {
        "server/discover" => http("400 Bad Request", ""),
        "initialize" => {
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "script", "version": "1" },
            });
            let head = match session {
                "" => "200 OK".to_owned(),
                session => format!("200 OK\nMcp-Session-Id: {session}"),
            };
            json_text(&head, &result_of(asked, &result))
        }
        "tools/list" => result(asked, &tools()),
        "tools/call" => result(asked, &json!({ "content": [] })),
        "GET" | "DELETE" => http("405 Method Not Allowed", ""),
        method if method == "response" || method.starts_with("notifications/") => accepted(),
        _ => result(asked, &json!({})),
    }
}

fn tools() -> Value {
    let schema = json!({ "type": "object" });
    json!({ "tools": [
        { "name": "one", "inputSchema": schema },
        { "name": "two", "inputSchema": schema },
    ]})
}
