//! The rows of `tests/data`: each row runs natively and as equivalent JSON-RPC, on separate stores. The replies and the
//! resulting records must be the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::test_server::{Reply, TestServer, assert_fits, rows};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    #[serde(rename = "do")]
    steps: Vec<Step>,
    /// The records of `todo` afterwards.
    left: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// The native message.
    send: Box<RawValue>,
    #[serde(default = "execute")]
    to: String,
    /// The status of the native reply.
    status: u16,
    /// The JSON-RPC error code, if it does not follow from the status.
    code: Option<i64>,
    /// A part of the result.
    reply: Option<Value>,
    /// A pattern of the error's text.
    error: Option<String>,
    /// The `data.pointer` of the JSON-RPC error.
    pointer: Option<String>,
}

fn execute() -> String {
    "/execute".to_owned()
}

/// The members of a native message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    command: String,
    #[serde(default)]
    resource: String,
    #[serde(default, deserialize_with = "sent")]
    id: Option<Box<RawValue>>,
    #[serde(default)]
    payload: BTreeMap<String, Box<RawValue>>,
    metadata: Option<Box<RawValue>>,
    /// The member of a message to `/revert`.
    request_id: Option<Box<RawValue>>,
}

/// Distinguishes null from a missing member.
fn sent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Native,
    JsonRpc,
}

/// The content of a reply in either form.
#[derive(Debug, PartialEq)]
enum Content {
    Result(Value),
    /// The error message for an unknown command differs between the forms.
    Unknown,
    Error {
        status: u16,
        reason: String,
    },
}

#[tokio::test]
async fn create() {
    check_all("create.jsonl").await;
}

#[tokio::test]
async fn read_update_delete_and_repeat() {
    check_all("change.jsonl").await;
}

#[tokio::test]
async fn idempotent_and_reverted_requests() {
    check_all("requests.jsonl").await;
}

#[tokio::test]
async fn filter_list_and_status() {
    check_all("find.jsonl").await;
}

async fn check_all(file: &str) {
    for row in rows::<Row>(file) {
        let (native, natively_left) = run(&row, Form::Native).await;
        let (twin, left) = run(&row, Form::JsonRpc).await;
        let name = &row.name;
        assert_eq!(native, twin, "{name}: replies, natively and in JSON-RPC");
        assert_eq!(natively_left, left, "{name}: records, natively and in JSON-RPC");
        if let Some(expected) = &row.left {
            assert_fits(&format!("{name}: records"), expected, &left["todo"]["items"]);
        }
    }
}

/// Runs the steps on a new store, and returns the replies and the stored data.
async fn run(row: &Row, form: Form) -> (Vec<Content>, Value) {
    let mut server = TestServer::new().await;
    for given in [
        r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"Tea"}}"#,
        r#"{"command":"create","resource":"todo","id":"b","payload":{"title":"Buy Milk","done":true,"priority":"high"}}"#,
    ] {
        let reply = server.post("/execute", given).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    let mut replies = Vec::new();
    for (index, step) in row.steps.iter().enumerate() {
        let name = format!("{} (step {}, {form:?})", row.name, index + 1);
        let message: Message = serde_json::from_str(step.send.get()).unwrap();
        replies.push(match form {
            Form::Native => {
                let reply = server.post(&step.to, step.send.get()).await;
                step.check_native(&name, &message, &reply)
            }
            Form::JsonRpc => {
                let to = if step.to == "/revert" { "/execute" } else { &step.to };
                let reply = server.post(to, twin(&message)).await;
                step.check_json_rpc(&name, &reply)
            }
        });
    }
    let stored = plain(server.stored().await);
    server.stop().await;
    (replies, stored)
}

/// The same command as a JSON-RPC request.
fn twin(message: &Message) -> String {
    if let Some(request_id) = &message.request_id {
        return format!(
            r#"{{"jsonrpc":"2.0","method":"todo.revert","params":[{request_id}],"id":7}}"#
        );
    }
    let Message { command, resource, id, payload, metadata, .. } = message;
    let mut params = payload.clone();
    params.extend(id.clone().map(|id| ("id".to_owned(), id)));
    params.extend(metadata.clone().map(|metadata| ("metadata".to_owned(), metadata)));
    let params = match params.is_empty() {
        true => String::new(),
        false => format!(r#""params":{},"#, serde_json::to_string(&params).unwrap()),
    };
    format!(r#"{{"jsonrpc":"2.0","method":"{resource}.{command}",{params}"id":7}}"#)
}

impl Step {
    #[track_caller]
    fn check_native(&self, name: &str, message: &Message, reply: &Reply) -> Content {
        assert_eq!(reply.status, self.status, "{name}: {}", reply.text());
        if reply.status == 204 {
            assert_eq!(reply.text(), "", "{name}");
            return Content::Result(Value::Null);
        }
        assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
        let mut body = reply.json();
        if self.error.is_some() {
            assert_eq!(body, json!({ "error": body["error"] }), "{name}: nothing else");
            let reason = body["error"].as_str().unwrap();
            return self.refused(name, reply.status, reason);
        }
        let result = if message.request_id.is_some() {
            body
        } else {
            let result = body["result"].take();
            let around = match reply.status {
                201 => json!({ "statusCode": 201, "result": null }),
                _ => json!({ "result": null }),
            };
            assert_eq!(body, around, "{name}");
            result
        };
        self.done(name, result)
    }

    #[track_caller]
    fn check_json_rpc(&self, name: &str, reply: &Reply) -> Content {
        assert_eq!(reply.status, 200, "{name}: {}", reply.text());
        let mut body = reply.json();
        assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)), "{name}: {body}");
        let Some(pattern) = &self.error else {
            assert!(body.get("error").is_none(), "{name}: {body}");
            return self.done(name, body["result"].take());
        };
        assert!(body.get("result").is_none(), "{name}: {body}");
        let error = &body["error"];
        let code = self.code.unwrap_or(match self.status {
            400 => -32602,
            404 => -32011,
            409 => -32012,
            status => panic!("{name}: no code is known for {status}"),
        });
        assert_eq!(error["code"], code, "{name}: {body}");
        assert_eq!(error["data"]["pointer"].as_str(), self.pointer.as_deref(), "{name}: {body}");
        if code == -32601 {
            assert_eq!(error["message"], "Method not found", "{name}: {pattern}");
            return Content::Unknown;
        }
        let reason = error["data"]["reason"].as_str();
        self.refused(name, self.status, reason.unwrap_or_else(|| panic!("{name}: {body}")))
    }

    #[track_caller]
    fn refused(&self, name: &str, status: u16, reason: &str) -> Content {
        assert_fits(name, &json!(self.error), &json!(reason));
        if self.code == Some(-32601) {
            return Content::Unknown;
        }
        Content::Error { status, reason: reason.to_owned() }
    }

    #[track_caller]
    fn done(&self, name: &str, result: Value) -> Content {
        let result = plain(result);
        if let Some(expected) = &self.reply {
            assert_fits(name, expected, &result);
        }
        Content::Result(result)
    }
}

/// Replaces generated values: times by `time`, and generated ids by `generated`.
#[track_caller]
fn plain(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(plain).collect(),
        Value::Object(members) => {
            if let (Some(created), Some(updated)) =
                (members.get("createdAt"), members.get("updatedAt"))
                && created.is_string()
            {
                let [created, updated] = [created, updated].map(|time| time.as_str().unwrap());
                assert!(is_time(created) && is_time(updated), "{created} {updated}");
                assert!(created <= updated, "created {created}, updated {updated}");
            }
            let plain = |(name, value): (String, Value)| match (&*name, &value) {
                ("createdAt" | "updatedAt", Value::String(_)) => (name, json!("time")),
                ("id", Value::String(id)) if is_generated(id) => (name, json!("generated")),
                _ => (name, plain(value)),
            };
            Value::Object(members.into_iter().map(plain).collect())
        }
        value => value,
    }
}

/// `2026-11-22T11:13:45.123Z`.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}

/// Whether the id is a version 7 UUID.
fn is_generated(id: &str) -> bool {
    id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && id[14..].starts_with('7')
}
