//! The adapter: conversion between messages, calls and commands.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline::{Call, ErrorObject, Extensions, Id, Limits, Outcome, code};
use trunkline_records::adapter::{self, NativeReply};
use trunkline_records::{Command, Protocol, RecordId, RequestId};

#[test]
fn bodies_with_a_jsonrpc_member_are_json_rpc() {
    let rows = [
        (r#"{"jsonrpc":"2.0","method":"todo.read","id":1}"#, Protocol::JsonRpc),
        (r#"{"jsonrpc":"1.0"}"#, Protocol::JsonRpc),
        (r#"{"jsonrpc":null}"#, Protocol::JsonRpc),
        (r#"{"id":1,"method":"x","jsonrpc":"2.0"}"#, Protocol::JsonRpc),
        (r#"{"\u006asonrpc":"2.0"}"#, Protocol::JsonRpc),
        (r#"{"command":"read","resource":"todo","jsonrpc":"2.0"}"#, Protocol::JsonRpc),
        (" \r\n\t[", Protocol::JsonRpc),
        ("[]", Protocol::JsonRpc),
        (r#"[{"command":"read"}]"#, Protocol::JsonRpc),
        // Invalid JSON after the member `jsonrpc` is invalid JSON-RPC.
        (r#"{"jsonrpc""#, Protocol::JsonRpc),
        (r#"{"jsonrpc":"2.0","method":"#, Protocol::JsonRpc),
        (r#"{"jsonrpc" nonsense"#, Protocol::JsonRpc),
        (r#"{"a":1 "jsonrpc":"2.0"}"#, Protocol::Native),
        (r#"{"a":},"jsonrpc":"2.0"}"#, Protocol::Native),
        (r#"{"command":"read","resource":"todo"}"#, Protocol::Native),
        (r#"{"method":"todo.read","params":["a"],"id":1}"#, Protocol::Native),
        (r#"{"payload":{"jsonrpc":"2.0"}}"#, Protocol::Native),
        (r#"{"payload":"jsonrpc"}"#, Protocol::Native),
        (r#"{"JSONRPC":"2.0"}"#, Protocol::Native),
        (r#"{"jsonrp"#, Protocol::Native),
        (r#""jsonrpc""#, Protocol::Native),
        ("{}", Protocol::Native),
        ("{", Protocol::Native),
        ("null", Protocol::Native),
        ("5", Protocol::Native),
        ("", Protocol::Native),
    ];
    for (body, expected) in rows {
        assert_eq!(adapter::protocol(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn native_messages_are_read() {
    let plain = json!({ "protocol": "native" });
    let rows = [
        (
            r#"{"command":"update","resource":"todo","id":"a","payload":{"done":true}}"#,
            json!({ "command": "update", "resource": "todo", "id": "a", "payload": { "done": true }, "metadata": plain }),
        ),
        (
            r#"{"command":"list","resource":"crm.eu.todo"}"#,
            json!({ "command": "list", "resource": "crm.eu.todo", "payload": {}, "metadata": plain }),
        ),
        (
            r#"{"command":"read","resource":"todo","id":0}"#,
            json!({ "command": "read", "resource": "todo", "id": "0", "payload": {}, "metadata": plain }),
        ),
        (
            r#"{"command":"create","resource":"todo","payload":{"id":1e2,"title":"x"}}"#,
            json!({ "command": "create", "resource": "todo", "id": "1e2", "payload": { "title": "x" }, "metadata": plain }),
        ),
        (
            r#"{"command":"read","resource":"todo","id":"a","payload":{"id":"a"}}"#,
            json!({ "command": "read", "resource": "todo", "id": "a", "payload": {}, "metadata": plain }),
        ),
        (
            r#"{"command":"delete","resource":"todo","id":"a","metadata":{"requestId":1,"ifVersion":2,"who":"me","protocol":"mine"}}"#,
            json!({
                "command": "delete", "resource": "todo", "id": "a", "payload": {},
                "metadata": { "protocol": "native", "requestId": "1", "ifVersion": 2, "who": "me" },
            }),
        ),
    ];
    for (body, expected) in rows {
        let command =
            adapter::read(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error:?}"));
        assert_eq!(json!(command), expected, "{body}");
    }
}

#[test]
fn invalid_native_messages_have_a_pointer() {
    let rows = [
        ("{", code::PARSE_ERROR, None),
        ("[]", code::INVALID_REQUEST, None),
        (r#"{"resource":"todo"}"#, code::INVALID_REQUEST, None),
        (r#"{"command":"a.read","resource":"todo"}"#, code::INVALID_REQUEST, None),
        (r#"{"command":"read","resource":"todo","id":true}"#, code::INVALID_PARAMS, Some("/id")),
        (
            r#"{"command":"read","resource":"todo","payload":{"id":""}}"#,
            code::INVALID_PARAMS,
            Some("/payload/id"),
        ),
        (
            r#"{"command":"read","resource":"todo","payload":[]}"#,
            code::INVALID_PARAMS,
            Some("/payload"),
        ),
        (
            r#"{"command":"read","resource":"todo","metadata":"x"}"#,
            code::INVALID_PARAMS,
            Some("/metadata"),
        ),
        (
            r#"{"command":"read","resource":"todo","metadata":{"ifVersion":-1}}"#,
            code::INVALID_PARAMS,
            Some("/metadata/ifVersion"),
        ),
        (
            r#"{"command":"read","resource":"todo","metadata":{"if_version":1}}"#,
            code::INVALID_PARAMS,
            Some("/metadata/if_version"),
        ),
    ];
    for (body, code, pointer) in rows {
        check_refused(body, adapter::read(body.as_bytes()), code, pointer);
    }
}

#[track_caller]
fn check_refused<T>(name: &str, found: Result<T, ErrorObject>, code: i64, pointer: Option<&str>) {
    let error = found.err().unwrap_or_else(|| panic!("{name} is not rejected"));
    assert_eq!(error.code(), code, "{name}");
    let data: Value =
        error.data().map_or(Value::Null, |data| serde_json::from_str(data.get()).unwrap());
    assert_eq!(data["pointer"].as_str(), pointer, "{name}: {data}");
    let reason = data["reason"].as_str();
    assert!(
        code == code::METHOD_NOT_FOUND || reason.is_some_and(|text| !text.is_empty()),
        "{name}: {data}"
    );
}

/// A JSON-RPC call with the id 7 and this text as its params.
fn call(method: &str, params: &str) -> Call {
    let params: Box<serde_json::value::RawValue> = serde_json::from_str(params).unwrap();
    Call::request(&Id::from(7), method, &params).unwrap()
}

#[test]
fn converts_calls_to_commands() {
    let rows = [
        (
            "todo.update",
            r#"{"id":"a","done":true}"#,
            "update",
            "todo",
            Some("a"),
            json!({ "done": true }),
        ),
        // The last segment is the command.
        ("crm.todo.update", r#"{"id":"a"}"#, "update", "crm.todo", Some("a"), json!({})),
        ("a.b.c.d.read", r#"{"id":"a"}"#, "read", "a.b.c.d", Some("a"), json!({})),
        // 0 is a valid id.
        ("todo.read", r#"{"id":0}"#, "read", "todo", Some("0"), json!({})),
        ("todo.read", r#"{"id":-0.0}"#, "read", "todo", Some("-0.0"), json!({})),
        (
            "todo.read",
            r#"{"id":12345678901234567890123}"#,
            "read",
            "todo",
            Some("12345678901234567890123"),
            json!({}),
        ),
        ("todo.list", "[]", "list", "todo", None, json!({})),
        ("todo.read", r#"["a",null]"#, "read", "todo", Some("a"), json!({})),
        ("todo.read", "[1e400]", "read", "todo", Some("1e400"), json!({})),
        ("todo.read", r#"{"id":1e400}"#, "read", "todo", Some("1e400"), json!({})),
        ("todo.list", r#"{"id":null,"limit":5}"#, "list", "todo", None, json!({ "limit": 5 })),
        // Params by position have no payload.
        ("todo.read", r#"["a"]"#, "read", "todo", Some("a"), json!({})),
        ("todo.delete", "[0]", "delete", "todo", Some("0"), json!({})),
        (
            "todo.delete",
            "[12345678901234567890123]",
            "delete",
            "todo",
            Some("12345678901234567890123"),
            json!({}),
        ),
        ("todo.read", "[null]", "read", "todo", None, json!({})),
        ("todo.revert", r#"["r"]"#, "revert", "todo", None, json!({ "requestId": "r" })),
        ("todo.revert", "[5]", "revert", "todo", None, json!({ "requestId": 5 })),
        ("todo.status", "null", "status", "todo", None, json!({})),
        ("todo.status", "{}", "status", "todo", None, json!({})),
        ("math.add", r#"{"a":1,"b":[2]}"#, "add", "math", None, json!({ "a": 1, "b": [2] })),
    ];
    for (method, params, command, resource, id, payload) in rows {
        let found = adapter::command_of(&call(method, params));
        let mut expected = json!({
            "command": command, "resource": resource, "payload": payload,
            "metadata": { "protocol": "jsonrpc", "version": "2.0", "jsonrpcId": 7 },
        });
        if let Some(id) = id {
            expected["id"] = id.into();
        }
        assert_eq!(json!(found.unwrap()), expected, "{method} {params}");
    }
}

#[test]
fn notifications_have_no_json_rpc_id() {
    let call = Call::notification("todo.delete", &json!({ "id": "a" })).unwrap();
    let command = adapter::command_of(&call).unwrap();
    assert_eq!(json!(command.metadata), json!({ "protocol": "jsonrpc", "version": "2.0" }));
}

#[test]
fn rejects_calls_that_are_not_commands() {
    let params = code::INVALID_PARAMS;
    let rows = [
        ("todo", "{}", code::METHOD_NOT_FOUND, None),
        (".todo", "{}", code::METHOD_NOT_FOUND, None),
        ("todo.", "{}", code::METHOD_NOT_FOUND, None),
        (".", "{}", code::METHOD_NOT_FOUND, None),
        ("todo.create", r#"["a"]"#, params, Some("")),
        ("a..b", "{}", code::METHOD_NOT_FOUND, None),
        (".a.b", "{}", code::METHOD_NOT_FOUND, None),
        ("rpc.x.update", "{}", code::METHOD_NOT_FOUND, None),
        ("todo.list", "[5]", params, Some("")),
        ("todo.read", "[]", params, Some("")),
        ("todo.read", r#"["a","b"]"#, params, Some("/1")),
        ("todo.read", r#"["a",null,1]"#, params, Some("")),
        ("todo.read", "[true]", params, Some("/0")),
        ("todo.read", r#"[""]"#, params, Some("/0")),
        ("todo.read", r#"{"id":{}}"#, params, Some("/id")),
        ("todo.read", r#"{"id":"a","id":"b"}"#, params, Some("")),
        ("todo.read", r#"{"id":"a","metadata":[]}"#, params, Some("/metadata")),
        (
            "todo.read",
            r#"{"id":"a","metadata":{"requestId":{}}}"#,
            params,
            Some("/metadata/requestId"),
        ),
        (
            "todo.read",
            r#"{"id":"a","metadata":{"REQUESTID":"r"}}"#,
            params,
            Some("/metadata/REQUESTID"),
        ),
    ];
    for (method, sent, code, pointer) in rows {
        check_refused(
            &format!("{method} {sent}"),
            adapter::command_of(&call(method, sent)),
            code,
            pointer,
        );
    }
}

#[test]
fn converts_commands_to_calls() {
    let mut command = Command::new("crm.todo", "status");
    let found = adapter::call_of(&command).unwrap();
    assert_eq!((&*found.method(), found.params()), ("crm.todo.status", None));
    command.id = RecordId::new("a");
    command.payload.insert("done".to_owned(), true.into());
    command.metadata.request_id = RequestId::new("r");
    let found = adapter::call_of(&command).unwrap();
    let params: Value = serde_json::from_slice(found.params().unwrap()).unwrap();
    assert_eq!(params, json!({ "id": "a", "done": true, "metadata": { "requestId": "r" } }));
    assert!(!found.is_notification());
}

#[test]
fn rejects_deeply_nested_params() {
    let mut command = Command::new("todo", "create");
    let deep = (0..=Limits::MAX_DEPTH).fold(Value::Null, |value, _| Value::Array(vec![value]));
    command.payload.insert("title".to_owned(), deep);
    let error = adapter::call_of(&command).unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

#[track_caller]
fn check_reply(command: &str, outcome: &Outcome, status: u16, body: Option<&str>) {
    let reply = NativeReply::of(&Command::new("todo", command), outcome);
    let found = reply.body.map(|body| String::from_utf8(body).unwrap());
    assert_eq!((reply.status.as_u16(), found.as_deref()), (status, body), "{command} {outcome:?}");
}

#[test]
fn native_replies_of_results() {
    let record = Outcome::result(&json!({ "id": "a" }));
    let none = Outcome::result(&());
    check_reply("create", &record, 201, Some(r#"{"statusCode":201,"result":{"id":"a"}}"#));
    check_reply("delete", &none, 204, None);
    check_reply("delete", &record, 200, Some(r#"{"result":{"id":"a"}}"#));
    for command in ["read", "update", "list", "anything"] {
        check_reply(command, &record, 200, Some(r#"{"result":{"id":"a"}}"#));
        check_reply(command, &none, 200, Some(r#"{"result":null}"#));
    }
}

#[test]
fn every_error_code_has_a_status() {
    let rows = [
        (code::PARSE_ERROR, 400),
        (code::INVALID_REQUEST, 400),
        (code::METHOD_NOT_FOUND, 400),
        (code::INVALID_PARAMS, 400),
        (code::INTERNAL_ERROR, 500),
        (code::APPLICATION, 500),
        (code::TOOL_NOT_FOUND, 500),
        (code::TOOL_EXECUTION, 500),
        (code::DATABASE, 400),
        (code::TIMEOUT, 504),
        (code::BUSY, 503),
        (code::REPLY_TOO_LARGE, 400),
        (code::UNAUTHENTICATED, 401),
        (code::FORBIDDEN, 403),
        (code::REFUSED, 500),
        (code::RATE_LIMITED, 429),
        (code::NOT_FOUND, 404),
        (code::CONFLICT, 409),
        (code::CANCELLED, 500),
        (0, 500),
        (418, 500),
    ];
    for (code, status) in rows {
        let reply = NativeReply::error(&ErrorObject::new(code, "Out of tea"));
        let expected = br#"{"error":"Out of tea"}"#.to_vec();
        assert_eq!((reply.status.as_u16(), reply.body), (status, Some(expected)), "{code}");
    }
}

#[test]
fn native_replies_of_errors() {
    let error = || ErrorObject::new(code::CONFLICT, "Conflict");
    let rows = [
        (error(), "Conflict"),
        (error().with_data(&json!({ "reason": "a \"b\"\n" })), "a \"b\"\n"),
        (error().with_data(&json!({ "reason": "first", "incident": "7" })), "first"),
        (error().with_data(&json!({ "incident": "7" })), "Conflict (incident 7)"),
        (error().with_data(&json!({ "pointer": "/a" })), "Conflict"),
        (error().with_data(&json!({ "reason": 5 })), "Conflict"),
        (error().with_data(&json!(["reason"])), "Conflict"),
        (error().with_data(&Value::Null), "Conflict"),
    ];
    for (error, text) in rows {
        let reply = NativeReply::error(&error);
        let body: Value = serde_json::from_slice(&reply.body.unwrap()).unwrap();
        assert_eq!(body, json!({ "error": text }), "{error:?}");
    }
    let unknown = Outcome::error(ErrorObject::method_not_found("todo.fly"));
    check_reply("fly", &unknown, 400, Some(r#"{"error":"unknown command \"fly\" of \"todo\""}"#));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn members(reserved: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-z~/ä\"]{0,6}", value(), 0..4).prop_map(move |members| {
        members.into_iter().filter(|(name, _)| !reserved.contains(&name.as_str())).collect()
    })
}

prop_compose! {
    fn command()(
        resource in "[a-zé]{1,4}(\\.[a-z ]{1,3}){0,2}"
            .prop_filter("`rpc` is reserved", |name| name.split('.').next() != Some("rpc")),
        command in "[a-z\"\\\\]{1,6}",
        id in option::of("\\PC{1,8}"),
        payload in members(&["id", "metadata"]),
        request_id in option::of(any::<String>()),
        if_version in option::of(any::<u64>()),
        others in members(&["protocol", "version"]),
    ) -> Command {
        let mut command = Command::new(resource, command);
        command.metadata.request_id = request_id.and_then(RequestId::new);
        command.metadata.if_version = if_version;
        command.metadata.others = others;
        command.id = id.and_then(RecordId::new);
        command.payload = payload;
        command
    }
}

proptest! {
    #[test]
    fn commands_are_restored_from_calls(command in command()) {
        let mut call = adapter::call_of(&command).unwrap();
        *call.extensions_mut() = Extensions::new().with_protocol("native");
        let back = adapter::command_of(&call).unwrap();
        prop_assert_eq!(json!(back), json!(command));
    }

    #[test]
    fn commands_are_restored_from_messages(command in command()) {
        let message = serde_json::to_vec(&command).unwrap();
        prop_assert_eq!(adapter::protocol(&message), Protocol::Native);
        let back = adapter::read(&message).unwrap();
        prop_assert_eq!(json!(back), json!(command));
    }

    /// Truncated messages are rejected, and keep the protocol of the complete message once it can be detected.
    #[test]
    fn a_message_that_breaks_off(command in command(), end in any::<prop::sample::Index>()) {
        let message = serde_json::to_vec(&command).unwrap();
        let part = &message[..end.index(message.len())];
        prop_assert_eq!(adapter::protocol(part), Protocol::Native);
        prop_assert_eq!(adapter::read(part).unwrap_err().code(), code::PARSE_ERROR);
    }

    #[test]
    fn no_bytes_are_too_much(body in vec(any::<u8>(), 0..200)) {
        let is_array = body.trim_ascii_start().starts_with(b"[");
        prop_assert!(!is_array || adapter::protocol(&body) == Protocol::JsonRpc);
        if let Err(error) = adapter::read(&body) {
            prop_assert_eq!(NativeReply::error(&error).status.as_u16(), 400);
        }
    }

    /// Fragments of JSON, so that some of the text is valid.
    #[test]
    fn no_tokens_are_too_much(
        tokens in vec(prop::sample::select(TOKENS), 0..24),
    ) {
        let body = tokens.concat();
        let json_rpc = adapter::protocol(body.as_bytes()) == Protocol::JsonRpc;
        prop_assert!(!json_rpc || body.contains("jsonrpc") || body.trim_start().starts_with('['));
        match adapter::read(body.as_bytes()) {
            Ok(command) => {
                // Every valid message is a call.
                let call = adapter::call_of(&command).unwrap();
                prop_assert!(call.method().contains('.'));
            }
            Err(error) => prop_assert_eq!(NativeReply::error(&error).status.as_u16(), 400),
        }
    }
}

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "0",
    "-1.5e3",
    "\"command\":\"a\",",
    "\"resource\":\"b\"",
    "\"id\":",
    "\"payload\":",
    "\"metadata\":",
    "\"jsonrpc\":",
    "\"x\"",
    "\"\\ud800\"",
    " ",
    "\"",
];
