//! The protocol cases of `tests/data/jsonrpc.jsonl`, over HTTP and in process.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use trunkline::{Extensions, Limits};

use crate::support::{Client, assert_replies, on_loopback, post, rows, serve, service};

#[derive(Deserialize)]
struct Case {
    name: String,
    body: Option<String>,
    body_b64: Option<String>,
    expect: Value,
    id_raw: Option<String>,
}

impl Case {
    fn all() -> Vec<Self> {
        rows("jsonrpc.jsonl")
    }

    fn bytes(&self) -> Vec<u8> {
        match (&self.body, &self.body_b64) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(base64)) => BASE64_STANDARD.decode(base64).unwrap(),
            _ => panic!("{}: one body is needed", self.name),
        }
    }

    #[track_caller]
    fn check(&self, reply: Option<&[u8]>) {
        assert_replies(&self.name, reply, &self.expect, self.id_raw.as_deref());
    }
}

#[tokio::test]
async fn every_case_in_process() {
    let rpc = service::router(Limits::default()).build().unwrap();
    for case in Case::all() {
        let reply = rpc.handle(Bytes::from(case.bytes()), Extensions::new()).await;
        case.check(reply.into_json().as_deref());
    }
}

/// All on one connection: an invalid body does not end it.
#[tokio::test]
async fn every_case_over_http() {
    let server = serve(on_loopback()).await;
    let mut client = Client::connect(server.local_addr()).await;
    for case in Case::all() {
        let reply = client.ask(post(case.bytes())).await;
        let (status, body) = match case.expect == "none" {
            true => (204, None),
            false => (200, Some(reply.body.as_slice())),
        };
        assert_eq!(reply.status, status, "{}", case.name);
        case.check(body);
    }
    assert_eq!(server.status().total_connections, 1);
}
