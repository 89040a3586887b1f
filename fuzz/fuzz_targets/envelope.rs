//! Handles any bytes as a request body: nothing panics, and the reply conforms to JSON-RPC 2.0.
//!
//! ```text
//! cargo install cargo-fuzz --version 0.13.2 --locked
//! cargo run --manifest-path fuzz/Cargo.toml --example seeds
//! RUSTC_BOOTSTRAP=1 cargo fuzz run envelope -- -max_total_time=600 -dict=fuzz/json.dict
//! ```
//!
//! `RUSTC_BOOTSTRAP=1` replaces a nightly toolchain. Add `--sanitizer none` where the address sanitizer does not
//! link; the crate forbids unsafe code. Findings are written to `fuzz/artifacts/envelope`; reproduce one with
//! `cargo fuzz run envelope FILE`.

#![no_main]

use std::fmt;

use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};
use trunkline::protocol::Reply;
use trunkline::{Extensions, Limits, Params, RawParams, Router, Rpc, VariadicParams, code};

const BATCH: usize = 32;

thread_local! {
    static SERVICE: (Runtime, Rpc) = {
        let runtime = Builder::new_current_thread().enable_time().build();
        (runtime.expect("a runtime"), service())
    };
}

fuzz_target!(|body: &[u8]| {
    let reply = SERVICE.with(|(runtime, rpc)| {
        runtime.block_on(rpc.handle(body.to_vec().into(), Extensions::new()))
    });
    match serde_json::from_slice::<&RawValue>(body) {
        Ok(json) => check_json(json.get(), reply),
        Err(_) => check_invalid(body, reply),
    }
});

#[derive(serde::Deserialize)]
struct Point {
    #[expect(dead_code, reason = "only deserialized")]
    x: i64,
    #[serde(default)]
    y: Option<Vec<f64>>,
}

#[derive(serde::Deserialize)]
struct Subtract {
    minuend: f64,
    subtrahend: f64,
}

#[derive(serde::Deserialize)]
struct Sum {
    numbers: Vec<f64>,
}

/// Handlers with all kinds of params, none of which fails.
fn service() -> Rpc {
    Router::new()
        .method("echo", |RawParams(params): RawParams| params)
        .method("p", |Params(point): Params<Point>| point.y)
        .method("later", || async {
            tokio::task::yield_now().await;
            "later"
        })
        .method("subtract", |Params(Subtract { minuend, subtrahend }): Params<Subtract>| {
            minuend - subtrahend
        })
        .method("sum", |VariadicParams(sum): VariadicParams<Sum>| sum.numbers.len())
        .limits(Limits { batch_requests: BATCH, ..Limits::default() })
        .build()
        .expect("the names are distinct")
}

/// Checks the reply to a body that is not JSON: one error.
fn check_invalid(body: &[u8], reply: Reply) {
    let Reply::Single { json, code } = reply else {
        panic!("expected one error for a body that is not JSON: {reply:?}");
    };
    let response = Response::parse(&json);
    assert_eq!(response.code(), code);
    assert_eq!(response.id.get(), "null");
    // A batch is parsed up to its limit only.
    let too_long = code == Some(code::INVALID_REQUEST) && body.trim_ascii_start().starts_with(b"[");
    assert!(too_long || code == Some(code::PARSE_ERROR), "{code:?}");
}

/// Checks the reply to a JSON body: one response for each entry that is not a notification, with its id.
fn check_json(body: &str, reply: Reply) {
    let entries: Option<Vec<&RawValue>> = serde_json::from_str(body).ok();
    match (&entries, reply) {
        (Some(entries), Reply::Batch { json }) => {
            let responses: Vec<Response> = serde_json::from_slice(&json).expect("a valid reply");
            let mut responses = responses.into_iter();
            for id in entries.iter().filter_map(|entry| expected_id(entry.get())) {
                let response = responses.next().expect("a response to every request");
                response.check();
                assert_eq!(response.id.get(), id);
            }
            assert!(responses.next().is_none(), "more replies than requests");
        }
        (entries, Reply::Single { json, code }) => {
            let response = Response::parse(&json);
            assert_eq!(response.code(), code);
            let id = match (entries, code) {
                // Rejected as a whole: nested too deep, or a lone surrogate.
                (_, Some(code::PARSE_ERROR)) => {
                    assert!(body.contains("\\u") || nests_deep(body), "rejected JSON: {body}");
                    Some("null".to_owned())
                }
                (Some(entries), code) => {
                    assert!(entries.is_empty() || entries.len() > BATCH);
                    assert_eq!(code, Some(code::INVALID_REQUEST));
                    Some("null".to_owned())
                }
                (None, _) => expected_id(body),
            };
            assert_eq!(Some(response.id.get()), id.as_deref());
        }
        (Some(entries), Reply::None) => {
            assert!(!entries.is_empty());
            assert!(entries.iter().all(|entry| expected_id(entry.get()).is_none()));
        }
        (None, Reply::None) => assert_eq!(expected_id(body), None),
        (entries, reply) => panic!("unexpected reply to {entries:?}: {reply:?}"),
    }
}

fn nests_deep(body: &str) -> bool {
    body.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > Limits::default().depth
}

/// The id of the response to an entry. `None` for a notification.
fn expected_id(entry: &str) -> Option<String> {
    let null = Some("null".to_owned());
    let Ok(Members(members)) = serde_json::from_str(entry) else {
        return null;
    };
    let find = |name| {
        let mut found = members.iter().filter(move |(other, _)| other == name);
        (found.next().map(|(_, value)| value.get()), found.next().is_some())
    };
    let (id, two_ids) = find("id");
    if let Some(id) = id {
        let echoes = !two_ids && !id.starts_with(['{', '[', 't', 'f']);
        return if echoes { Some(id.to_owned()) } else { null };
    }
    let (version, two_versions) = find("jsonrpc");
    let (method, two_methods) = find("method");
    let (params, two_params) = find("params");
    let version = version.and_then(|version| serde_json::from_str::<String>(version).ok());
    let valid = !(two_versions || two_methods || two_params)
        && version.as_deref() == Some("2.0")
        && method.is_some_and(|method| method.starts_with('"'))
        && params.is_none_or(|params| params.starts_with(['{', '[']));
    if valid { None } else { null }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    jsonrpc: String,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    error: Option<ResponseError>,
    id: Box<RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseError {
    code: i64,
    message: String,
    #[expect(dead_code, reason = "only deserialized")]
    data: Option<Box<RawValue>>,
}

impl Response {
    fn parse(json: &[u8]) -> Self {
        let response: Self = serde_json::from_slice(json).expect("a valid reply");
        response.check();
        response
    }

    fn check(&self) {
        assert_eq!(self.jsonrpc, "2.0");
        assert_ne!(self.result.is_some(), self.error.is_some());
        if let Some(error) = &self.error {
            assert!(!error.message.is_empty());
            assert_ne!(error.code, code::INTERNAL_ERROR, "no handler of this service fails");
        }
    }

    fn code(&self) -> Option<i64> {
        self.error.as_ref().map(|error| error.code)
    }
}

/// Distinguishes a `null` result from a missing one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// The members of an object, including duplicates.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
