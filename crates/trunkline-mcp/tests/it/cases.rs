//! Tables of HTTP requests and their replies: `tests/data/plain.jsonl` for the JSON-RPC endpoint, and the others for the
//! MCP endpoint.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::http;

use crate::support::{
    Reply, assert_fits, assert_lacks, expanded, headers_of, rows, serve, settings,
};

/// A request and the checked parts of its reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "post")]
    method: String,
    #[serde(default = "mcp")]
    path: String,
    /// Header lines. `$modern` adds those of the stateless era that match the body; `-accept` omits that header.
    #[serde(default)]
    headers: Vec<String>,
    /// The body, in which `"$meta"` is replaced.
    body: Option<Box<RawValue>>,
    /// A body that is not JSON.
    text: Option<String>,
    /// A body that is not text.
    base64: Option<String>,
    /// Spaces after the body.
    #[serde(default)]
    padding: usize,
    status: u16,
    /// `none` is an empty body.
    #[serde(default = "any")]
    reply: Value,
    /// A part of the reply's text.
    #[serde(default)]
    contains: String,
    /// JSON pointers to members that the reply must not have.
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    reply_headers: Vec<(String, String)>,
    #[serde(default)]
    bearer: bool,
}

fn post() -> String {
    "POST".to_owned()
}

fn mcp() -> String {
    "/mcp".to_owned()
}

fn any() -> Value {
    "*".into()
}

#[tokio::test]
async fn requests_are_answered_as_their_era_requires() {
    check_all("eras.jsonl").await;
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    check_all("resources.jsonl").await;
}

#[tokio::test]
async fn prompts_are_listed_returned_and_completed() {
    check_all("prompts.jsonl").await;
}

#[tokio::test]
async fn mcp_methods_are_available_over_json_rpc() {
    check_all("plain.jsonl").await;
}

async fn check_all(file: &str) {
    let mut http = http::HttpConfig { max_body: 64 << 10, ..Default::default() };
    let open = serve(settings(), http.clone()).await;
    http.bearer.allow("secret");
    let guarded = serve(settings(), http).await;
    for case in rows::<Case>(file) {
        let server = if case.bearer { &guarded } else { &open };
        let reply = server.client().await.ask(case.request()).await;
        check(&case, &reply);
    }
    assert!(open.handle.stop().await.is_complete());
    assert!(guarded.handle.stop().await.is_complete());
}

#[track_caller]
fn check(case: &Case, reply: &Reply) {
    let name = &case.name;
    let text = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, case.status, "{name}: {text}");
    assert!(text.contains(&case.contains), "{name}: {text}");
    for (header, value) in &case.reply_headers {
        assert_eq!(reply.header(header), Some(value.as_str()), "{name}: {header}");
    }
    if case.reply == "none" {
        assert_eq!(text, "", "{name}");
    } else if case.reply != "*" || !case.absent.is_empty() {
        let found = reply.json();
        assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
        assert_fits(name, &case.reply, &found);
        assert_lacks(name, &case.absent, &found);
    }
}

impl Case {
    fn request(&self) -> Vec<u8> {
        let Self { method, path, padding, .. } = self;
        let mut body = match (&self.body, &self.text, &self.base64) {
            (Some(json), ..) => expanded(json.get()).into_bytes(),
            (_, Some(text), _) => text.clone().into_bytes(),
            (.., Some(base64)) => BASE64_STANDARD.decode(base64).unwrap(),
            _ => Vec::new(),
        };
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        body.extend(std::iter::repeat_n(b' ', *padding));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for line in &self.headers {
            match line.strip_prefix('-') {
                Some(_) => {}
                None if line == "$modern" => head += &headers_of(&message),
                None => head += &format!("{line}\r\n"),
            }
        }
        for (name, value) in
            [("host", "localhost"), ("content-type", "application/json"), ("accept", ACCEPT)]
        {
            let is_own = |line: &String| {
                let own = line.split_once(':').map_or(&**line, |(own, _)| own);
                own.trim_start_matches('-').eq_ignore_ascii_case(name)
            };
            if !self.headers.iter().any(is_own) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    }
}

const ACCEPT: &str = "application/json, text/event-stream";
