//! What commands do, row by row of `tests/data`: each row once natively and once as its twin in
//! JSON-RPC, on a store of its own. Both have to be told the same, and to leave the same records.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::served::{Reply, Served, assert_fits, rows};

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
    /// The native message, which is sent as it is.
    send: Box<RawValue>,
    #[serde(default = "execute")]
    to: String,
    /// Of the native reply.
    status: u16,
    /// Of the error in JSON-RPC, where the status does not tell.
    code: Option<i64>,
    /// A part of the result.
    reply: Option<Value>,
    /// A pattern of the error's text.
    error: Option<String>,
    /// Where the error is, as JSON-RPC tells.
    pointer: Option<String>,
}

fn execute() -> String {
    "/execute".to_owned()
}

/// A native message, taken apart.
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
    /// Of a message to `/revert`.
    request_id: Option<Box<RawValue>>,
}

/// A null that is sent is not the same as nothing.
fn sent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Native,
    JsonRpc,
}

/// What a reply tells, whatever its form.
#[derive(Debug, PartialEq)]
enum Told {
    Result(Value),
    /// Of an unknown command, each form says it in its own words.
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
async fn requests_that_act_once_and_are_reverted() {
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
        assert_eq!(native, twin, "{name}: what is told natively, and in JSON-RPC");
        assert_eq!(natively_left, left, "{name}: what is left natively, and by JSON-RPC");
        if let Some(expected) = &row.left {
            assert_fits(&format!("{name}: what is left"), expected, &left["todo"]["items"]);
        }
    }
}

/// Takes the steps on a new store, and returns what is told and what is stored then.
async fn run(row: &Row, form: Form) -> (Vec<Told>, Value) {
    let mut served = Served::new().await;
    for given in [
        r#"{"command":"create","resource":"todo","id":"a","payload":{"title":"Tea"}}"#,
        r#"{"command":"create","resource":"todo","id":"b","payload":{"title":"Buy Milk","done":true,"priority":"high"}}"#,
    ] {
        let reply = served.post("/execute", given).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    let mut told = Vec::new();
    for (index, step) in row.steps.iter().enumerate() {
        let name = format!("{} (step {}, {form:?})", row.name, index + 1);
        let message: Message = serde_json::from_str(step.send.get()).unwrap();
        told.push(match form {
            Form::Native => {
                let reply = served.post(&step.to, step.send.get()).await;
                step.check_native(&name, &message, &reply)
            }
            Form::JsonRpc => {
                let to = if step.to == "/revert" { "/execute" } else { &step.to };
                let reply = served.post(to, twin(&message)).await;
                step.check_json_rpc(&name, &reply)
            }
        });
    }
    let stored = plain(served.stored().await);
    served.stop().await;
    (told, stored)
}

/// The same command as a request of JSON-RPC.
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
    fn check_native(&self, name: &str, message: &Message, reply: &Reply) -> Told {
        assert_eq!(reply.status, self.status, "{name}: {}", reply.text());
        if reply.status == 204 {
            assert_eq!(reply.text(), "", "{name}");
            return Told::Result(Value::Null);
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
    fn check_json_rpc(&self, name: &str, reply: &Reply) -> Told {
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
            return Told::Unknown;
        }
        let reason = error["data"]["reason"].as_str();
        self.refused(name, self.status, reason.unwrap_or_else(|| panic!("{name}: {body}")))
    }

    #[track_caller]
    fn refused(&self, name: &str, status: u16, reason: &str) -> Told {
        assert_fits(name, &json!(self.error), &json!(reason));
        if self.code == Some(-32601) {
            return Told::Unknown;
        }
        Told::Error { status, reason: reason.to_owned() }
    }

    #[track_caller]
    fn done(&self, name: &str, result: Value) -> Told {
        let result = plain(result);
        if let Some(expected) = &self.reply {
            assert_fits(name, expected, &result);
        }
        Told::Result(result)
    }
}

/// The same without what each server makes for itself: times are `time`, and ids that it made `made`.
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
                ("id", Value::String(id)) if is_made(id) => (name, json!("made")),
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

/// A UUID of version 7.
fn is_made(id: &str) -> bool {
    id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && id[14..].starts_with('7')
}
