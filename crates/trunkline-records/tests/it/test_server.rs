//! Fixtures: a server with records, a client that sends raw bytes, and comparison of replies.

use std::net::SocketAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use trunkline::history::{Filter, History};
use trunkline::http;
use trunkline::{Router, Server, ServerHandle};
use trunkline_records::{RecordTypes, Records, RecordsConfig, operations, routes};

use crate::engine::Place;

/// Timeout of a test on a busy machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// Awaits a future with a timeout.
pub(crate) async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("timeout after {PATIENCE:?}: {what}"),
    }
}

/// A server of records on a free port.
pub(crate) struct TestServer {
    pub(crate) place: Place,
    pub(crate) handle: ServerHandle,
    pub(crate) history: History,
    client: Client,
    records: Records,
}

/// Settings of a test server.
pub(crate) struct Setup {
    pub(crate) types: RecordTypes,
    pub(crate) settings: RecordsConfig,
    pub(crate) http: http::HttpConfig,
    /// Additional operations.
    pub(crate) router: Router,
    /// Wraps the router before it is built.
    pub(crate) layered: fn(Router) -> Router,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            types: types(),
            settings: RecordsConfig::default(),
            http: http::HttpConfig::default(),
            router: Router::new(),
            layered: |router| router,
        }
    }
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        Self::on(Place::new(), setup).await
    }

    /// Serves the records of a place.
    pub(crate) async fn on(place: Place, setup: Setup) -> Self {
        let records = Records::open(place.location(), setup.types, setup.settings).unwrap();
        let router = setup.router.merge(operations(&records, |_| false));
        let history = History::new(Default::default());
        let rpc = (setup.layered)(router).build().unwrap().with_history(history.clone());
        let service = rpc.http_with(setup.http).merge(routes(&rpc, &records));
        let handle = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
        let client = Client::connect(handle.local_addr()).await;
        Self { place, handle, history, client, records }
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.client.ask(request).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.ask(post(path, "Content-Type: application/json\r\n", body)).await
    }

    /// Executes a native command.
    pub(crate) async fn native(&mut self, command: &Value) -> Reply {
        self.post("/execute", command.to_string()).await
    }

    /// Calls a JSON-RPC method at `/execute`, and returns the response object.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": 1 });
        self.post("/execute", request.to_string()).await.json()
    }

    /// The entries of the history as JSON, oldest first.
    pub(crate) fn recorded(&self) -> Vec<Value> {
        let page = self.history.entries(&Filter { limit: usize::MAX, ..Filter::default() });
        let entries = page.entries.iter().rev();
        entries.map(|entry| serde_json::to_value(&**entry).unwrap()).collect()
    }

    /// The stored data: all records of each resource, and the counts of `status`.
    pub(crate) async fn stored(&mut self) -> Value {
        let mut stored = json!({});
        for kind in types().iter() {
            let of = |command| json!({ "command": command, "resource": kind.name() });
            let status = self.native(&of("status")).await.json();
            let mut list = of("list");
            list["payload"] = json!({ "limit": 1_000 });
            let page = self.native(&list).await.json();
            assert_eq!(page["result"]["nextCursor"], Value::Null, "all records fit one page");
            let counts = &status["result"]["counts"];
            stored[kind.name()] = json!({ "items": page["result"]["items"], "counts": counts });
        }
        stored
    }

    pub(crate) async fn stop(self) {
        self.closed().await;
    }

    /// Stops the server, closes the store, and returns its place.
    pub(crate) async fn closed(self) -> Place {
        assert!(in_time("the end of the server", self.handle.stop()).await.is_complete());
        let records = self.records;
        let close = tokio::task::spawn_blocking(move || records.close(PATIENCE));
        assert!(close.await.unwrap(), "the store is closed");
        self.place
    }
}

/// The types of `tests/data/types.toml`.
pub(crate) fn types() -> RecordTypes {
    RecordTypes::parse(include_str!("../data/types.toml")).unwrap()
}

/// The rows of a file in `tests/data`; lines that begin with `//` are headings.
pub(crate) fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("//"));
    let row = |(index, line)| match serde_json::from_str(line) {
        Ok(row) => row,
        Err(error) => panic!("{path}:{}: {error}", index + 1),
    };
    lines.map(row).collect()
}

/// Compares a reply with the expected parts.
#[track_caller]
pub(crate) fn assert_fits(name: &str, expected: &Value, found: &Value) {
    assert!(fits(expected, found), "{name}\nexpected {expected}\n   found {found}");
}

/// `"*"` matches anything, and `"*text*"` every string that contains the text. Objects may have additional members;
/// arrays are compared in order.
pub(crate) fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(any), _) if any == "*" => true,
        (Value::String(pattern), Value::String(text)) => {
            match pattern.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')) {
                Some(part) => text.contains(part),
                None => pattern == text,
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|f| fits(value, f)))
        }
        _ => expected == found,
    }
}

/// A POST of `body` with header lines, each with its CRLF.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// One connection.
pub(crate) struct Client(BufReader<TcpStream>);

/// One HTTP/1 reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = in_time("to connect", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a request, or as much of it as the server reads, and returns the reply.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        drop(in_time("to send", self.0.get_mut().write_all(request.as_ref())).await);
        let line = self.line().await;
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status: Option<u16> = status.and_then(|status| status.parse().ok());
        let mut reply = Reply {
            status: status.unwrap_or_else(|| panic!("not a reply: {line:?}")),
            headers: Vec::new(),
            body: Vec::new(),
        };
        while let Some((name, value)) = self.line().await.split_once(':') {
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let has_body = reply.status != 204 && !request.as_ref().starts_with(b"HEAD ");
        if let Some(length) = reply.header("content-length").filter(|_| has_body) {
            reply.body = vec![0; length.parse().unwrap()];
            in_time("a body", self.0.read_exact(&mut reply.body)).await.unwrap();
        }
        reply
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        in_time("a line", self.0.read_line(&mut line)).await.unwrap();
        line.truncate(line.trim_end().len());
        line
    }
}

impl Reply {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
    }
}
