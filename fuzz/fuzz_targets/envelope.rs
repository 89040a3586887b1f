//! Any bytes as the body of a request: nothing panics, and the reply is what JSON-RPC 2.0 says.
//!
//! ```text
//! cargo install cargo-fuzz --version 0.13.2 --locked
//! cargo run --manifest-path fuzz/Cargo.toml --example seeds
//! RUSTC_BOOTSTRAP=1 cargo fuzz run envelope -- -max_total_time=600 -dict=fuzz/json.dict
//! ```
//!
//! `RUSTC_BOOTSTRAP=1` stands in for a nightly toolchain. Add `--sanitizer none` where the address
//! sanitizer does not link: the crate forbids unsafe code, so little is lost. What the fuzzer
//! finds goes to `fuzz/artifacts/envelope`; `cargo fuzz run envelope FILE` shows it again.

#![no_main]

use std::fmt;

use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};
use trunkline::protocol::Reply;
use trunkline::{Extensions, Limits, Params, RawParams, Router, Rpc, code, param};

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
        Ok(json) => judge_json(json.get(), reply),
        Err(_) => judge_other(body, reply),
    }
});

#[derive(serde::Deserialize)]
struct Point {
    #[expect(dead_code, reason = "it is only read")]
    x: i64,
    #[serde(default)]
    y: Option<Vec<f64>>,
}

/// Handlers of every kind that reads params, none of which fails.
fn service() -> Rpc {
    Router::new()
        .method("echo", |RawParams(params): RawParams| params)
        .method("p", |Params(point): Params<Point>| point.y)
        .method("later", || async {
            tokio::task::yield_now().await;
            "later"
        })
        .function("subtract", ["minuend", "subtrahend"], |a: f64, b: f64| a - b)
        .function("sum", [param("numbers").variadic()], |numbers: Vec<f64>| numbers.len())
        .limits(Limits { batch_requests: BATCH, ..Limits::default() })
        .build()
        .expect("the names are different")
}

/// A body that is not JSON: one error, and nothing else has happened.
fn judge_other(body: &[u8], reply: Reply) {
    let Reply::Single { json, code } = reply else {
        panic!("a body that is not JSON is answered with one error: {reply:?}");
    };
    let response = Response::parse(&json);
    assert_eq!(response.code(), code);
    assert_eq!(response.id.get(), "null");
    // A batch is not read further than to its limit.
    let too_long = code == Some(code::INVALID_REQUEST) && body.trim_ascii_start().starts_with(b"[");
    assert!(too_long || code == Some(code::PARSE_ERROR), "{code:?}");
}

/// A JSON body: as many replies as there are entries that are not notifications, each with the
/// id of its entry.
fn judge_json(body: &str, reply: Reply) {
    let entries: Option<Vec<&RawValue>> = serde_json::from_str(body).ok();
    match (&entries, reply) {
        (Some(entries), Reply::Batch { json }) => {
            let responses: Vec<Response> = serde_json::from_slice(&json).expect("a valid reply");
            let mut responses = responses.into_iter();
            for id in entries.iter().filter_map(|entry| expected_id(entry.get())) {
                let response = responses.next().expect("a reply to every request");
                response.check();
                assert_eq!(response.id.get(), id);
            }
            assert!(responses.next().is_none(), "more replies than requests");
        }
        (entries, Reply::Single { json, code }) => {
            let response = Response::parse(&json);
            assert_eq!(response.code(), code);
            let id = match (entries, code) {
                // Nothing is run: nested too deep, or a lone surrogate.
                (_, Some(code::PARSE_ERROR)) => {
                    assert!(body.contains("\\u") || nests_deep(body), "refused JSON: {body}");
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
        (entries, reply) => panic!("{entries:?} is answered with {reply:?}"),
    }
}

fn nests_deep(body: &str) -> bool {
    body.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > Limits::default().depth
}

/// The id that the reply to an entry has; none for a notification.
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
    #[expect(dead_code, reason = "it is only read")]
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

/// A result of `null` is a result.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// An object's members, duplicates included.
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
