//! The history of calls: entries, limits, redaction and endpoints.

mod bounds;
mod cancelling;
mod endpoint;
mod endpoint_live;
mod entries;
mod live;
mod logs;
mod paging;
mod redacting;
mod refusals;

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::history::{Filter, History, HistoryConfig};
use trunkline::{ErrorObject, Extensions, Json, Limits, RawParams, Router, Rpc};

use crate::support::{add, login};

fn router() -> Router {
    Router::new()
        .method("add", add)
        .method("echo", |params: RawParams| Json(params.0))
        .method("fail", || {
            let data = json!({ "hint": "again", "token": "t0p" });
            Err::<(), _>(ErrorObject::new(7, "it broke").with_data(&data))
        })
        .method("login", login)
}

/// A service with the methods above and a history.
fn recorded(settings: HistoryConfig) -> (Rpc, History) {
    recorded_as(router(), settings)
}

fn recorded_as(router: Router, settings: HistoryConfig) -> (Rpc, History) {
    let history = History::new(settings);
    (router.build().unwrap().with_history(history.clone()), history)
}

/// Limits with this maximum size of a reply.
fn reply_bytes(reply_bytes: usize) -> Limits {
    Limits { reply_bytes, ..Limits::default() }
}

/// The extensions of a call of `principal` through `endpoint`.
fn from(endpoint: &'static str, principal: Option<&str>) -> Extensions {
    let mut extensions = Extensions::from_endpoint(endpoint);
    if let Some(name) = principal {
        extensions.insert(Principal::new(name));
    }
    extensions
}

async fn handle(rpc: &Rpc, body: impl Into<String>) -> Option<String> {
    let reply = rpc.handle(body.into().into(), from("test", None)).await;
    reply.into_json().map(|json| String::from_utf8(json).unwrap())
}

fn request(method: &str, id: u64) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "id": id }).to_string()
}

/// The entries as JSON, oldest first, without members that vary between runs.
fn entries_of(history: &History) -> Vec<Value> {
    let page = history.entries(&Filter { limit: usize::MAX, ..Filter::default() });
    let mut entries =
        serde_json::to_value(page.entries.iter().rev().map(|e| &**e).collect::<Vec<_>>());
    for entry in entries.as_mut().unwrap().as_array_mut().unwrap() {
        let members = entry.as_object_mut().unwrap();
        let time = members.remove("time").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        let micros = members.remove("duration_us").unwrap().as_u64().unwrap();
        assert_eq!(members.remove("ms").unwrap(), micros as f64 / 1_000.0);
        members.remove("trace_id");
    }
    let Value::Array(entries) = entries.unwrap() else { unreachable!("a list of entries") };
    entries
}
