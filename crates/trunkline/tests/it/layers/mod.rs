//! Layers around calls: the default layers, those of tower, and custom ones.

mod auditing;
mod counting;
mod exposition;
mod failing;
mod http_layers;
mod limiting;
mod panicking;
mod rates;
mod recorder;
mod rules;
mod schema_cost;
mod spans;
mod stacks;
mod traces;
mod validating;
mod wrapping;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use trunkline::protocol::Reply;
use trunkline::{Extensions, Rpc};

/// A runtime with tokio's paused clock.
fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn body(method: &str, id: i64) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "id": id }).to_string()
}

fn json_of(reply: Reply) -> Value {
    serde_json::from_slice(&reply.into_json().expect("a reply")).unwrap()
}

/// Calls `method` without params and compares the result or the whole error.
#[track_caller]
fn check(rpc: &Rpc, method: &str, expected: Result<Value, Value>) {
    let reply = paused().block_on(rpc.handle(body(method, 1).into(), Extensions::new()));
    let expected = match expected {
        Ok(result) => json!({ "jsonrpc": "2.0", "result": result, "id": 1 }),
        Err(error) => json!({ "jsonrpc": "2.0", "error": error, "id": 1 }),
    };
    assert_eq!(json_of(reply), expected, "{method}");
}

type Pending = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Starts a call, which must be pending.
#[track_caller]
fn start(rpc: &Rpc, method: &str) -> Pending {
    let (rpc, body) = (rpc.clone(), body(method, 1));
    let mut call: Pending =
        Box::pin(async move { rpc.handle(body.into(), Extensions::new()).await });
    let poll = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Pending), "{method} has ended");
    call
}
