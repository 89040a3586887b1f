//! The entries of calls, and their members.

use serde_json::{Value, json};
use trunkline::history::{Filter, HistoryConfig, Status};
use trunkline::{ErrorObject, Extensions, code};

use super::{entries_of, from, handle, recorded, recorded_as, reply_bytes, request, router};
use crate::support::{Client, in_time, on_loopback, post, post_with, serve_with};

/// Handles `body` and compares the members of each entry with a row. `null` in a row is for a missing member.
async fn check(body: &str, expected: &[Value]) {
    let (rpc, history) = recorded(HistoryConfig::default());
    handle(&rpc, body).await;
    let found = entries_of(&history);
    assert_eq!(found.len(), expected.len(), "{body}: {found:#?}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found["sequence"], json!(index + 1), "{body}");
        assert_eq!(
            (&found["kind"], &found["endpoint"]),
            (&json!("call"), &json!("test")),
            "{body}"
        );
        assert_eq!(found["protocol"], "jsonrpc", "{body}");
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(found[name], *value, "{name} of {body}: {found:#}");
        }
    }
}

fn whole(text: &str) -> Value {
    json!({ "text": text, "bytes": text.len(), "cut": false })
}

#[tokio::test]
async fn calls() {
    let call = r#"{"jsonrpc":"2.0","method":"add","params":[1,2],"id":"a\/b"}"#;
    check(
        call,
        &[json!({
            "method": "add", "operation": null, "id": "a/b", "notification": false, "status": "result",
            "code": null, "principal": null, "batch_index": null, "request": whole(call),
            "response": whole(r#"{"jsonrpc":"2.0","result":3,"id":"a\/b"}"#),
        })],
    )
    .await;
    let call = r#"{"jsonrpc":"2.0","method":"fail","id":1.5}"#;
    let response = concat!(
        r#"{"jsonrpc":"2.0","error":{"code":7,"message":"it broke","#,
        r#""data":{"hint":"again","token":"[redacted]"}},"id":1.5}"#
    );
    let text = json!({ "text": response, "bytes": response.len() - 7, "cut": false });
    check(call, &[json!({ "id": 1.5, "status": "error", "code": 7, "response": text })]).await;
    let unknown = request("no.such", 1);
    let row = json!({ "method": "no.such", "status": "error", "code": code::METHOD_NOT_FOUND });
    check(&unknown, &[row]).await;
    let row = json!({ "method": "add", "status": "error", "code": code::INVALID_PARAMS });
    check(&request("add", 1), &[row]).await;
}

#[tokio::test]
async fn notifications() {
    let call = r#"{"jsonrpc":"2.0","method":"echo"}"#;
    let row = json!({
        "method": "echo", "id": null, "notification": true, "status": "result",
        "request": whole(call), "response": null,
    });
    check(call, &[row]).await;
    let call = r#"{"jsonrpc":"2.0","method":"fail"}"#;
    check(call, &[json!({ "notification": true, "status": "error", "code": 7, "response": null })])
        .await;
}

#[tokio::test]
async fn invalid_messages() {
    let (parse, invalid) = (code::PARSE_ERROR, code::INVALID_REQUEST);
    check("", &[json!({ "method": null, "code": parse, "request": whole("") })]).await;
    let cut = json!({ "text": r#"{"jsonrpc":"2.0""#, "bytes": 21, "cut": true });
    check(r#"{"jsonrpc": "2.0" a }"#, &[json!({ "code": parse, "request": cut })]).await;
    let broken = json!({ "status": "error", "notification": false, "code": invalid, "id": 5 });
    check(r#"{"jsonrpc":"1.0","method":"add","id":5}"#, &[broken]).await;
    check("[]", &[json!({ "code": invalid, "id": null, "batch_index": null })]).await;
    let reply = r#"{"jsonrpc":"2.0","result":1,"id":3}"#;
    check(reply, &[json!({ "code": invalid, "id": 3, "request": whole(reply) })]).await;
    let (rpc, history) = recorded(HistoryConfig::default());
    let sent = handle(&rpc, "no").await.unwrap();
    assert_eq!(entries_of(&history)[0]["response"], whole(&sent), "the reply that was sent");
}

#[tokio::test]
async fn members_of_batches() {
    let body = r#" [1, {"jsonrpc":"2.0","method":"add","params":[1,2],"id":1} ,
        {"jsonrpc":"2.0","method":"echo"}, {"method":"add","id":9} ,{"jsonrpc":"2.0","method":"x","id":2}]"#;
    let bad = |index, text, id: Value| {
        let request = whole(text);
        json!({ "batch_index": index, "code": code::INVALID_REQUEST, "request": request, "id": id })
    };
    let call = whole(r#"{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}"#);
    let response = whole(r#"{"jsonrpc":"2.0","result":3,"id":1}"#);
    check(
        body,
        &[
            bad(0, "1", Value::Null),
            bad(3, r#"{"method":"add","id":9}"#, json!(9)),
            json!({ "batch_index": 1, "method": "add", "request": call, "response": response }),
            json!({ "batch_index": 2, "method": "echo", "notification": true, "response": null }),
            json!({ "batch_index": 4, "method": "x", "code": code::METHOD_NOT_FOUND }),
        ],
    )
    .await;
}

#[tokio::test]
async fn large_replies() {
    let (rpc, history) = recorded_as(router().limits(reply_bytes(200)), HistoryConfig::default());
    let big = json!({ "jsonrpc": "2.0", "method": "echo", "params": ["x".repeat(300)], "id": 1 });
    let small = request("echo", 2);
    let single = handle(&rpc, big.to_string()).await.unwrap();
    let batch = handle(&rpc, format!("[{big},{small}]")).await.unwrap();
    let found = entries_of(&history);
    let sent: Vec<Value> =
        serde_json::from_str(&format!("[{single},{}]", &batch[1..batch.len() - 1])).unwrap();
    assert_eq!(found.len(), 3);
    for (found, sent) in found.iter().zip(&sent) {
        assert_eq!(found["code"], code::REPLY_TOO_LARGE, "{found:#}");
        let recorded: Value =
            serde_json::from_str(found["response"]["text"].as_str().unwrap()).unwrap();
        assert_eq!(recorded, *sent, "the reply that was sent");
    }
}

#[tokio::test]
async fn calls_in_this_process() {
    let (rpc, history) = recorded(HistoryConfig::default());
    assert_eq!(rpc.call::<i64>("add", &[1, 2]).await.unwrap(), 3);
    rpc.call::<()>("no.such", &()).await.unwrap_err();
    let found = entries_of(&history);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!((&found[0]["endpoint"], &found[0]["method"]), (&json!("in-process"), &json!("add")));
    let sent = r#"{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}"#;
    assert_eq!(found[0]["request"], whole(sent));
    assert_eq!(found[0]["response"], whole(r#"{"jsonrpc":"2.0","result":3,"id":1}"#));
    assert_eq!(found[1]["code"], code::METHOD_NOT_FOUND);
}

#[tokio::test]
async fn principals_and_traces() {
    let (rpc, history) = recorded(HistoryConfig::default());
    rpc.handle(request("echo", 1).into(), from("stdio", Some("ada"))).await;
    let entry = &history.entries(&Filter::default()).entries[0];
    assert_eq!((entry.endpoint, entry.principal.as_deref()), ("stdio", Some("ada")));

    let handle = serve_with(rpc.http_with(on_loopback()), Default::default()).await;
    let mut client = Client::connect(handle.local_addr()).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
    assert_eq!(client.ask(post_with(&header, request("echo", 2))).await.status, 200);
    let entry = &history.entries(&Filter::default()).entries[0];
    assert_eq!(
        (entry.endpoint, entry.trace_id.map(|id| id.to_string()).as_deref()),
        ("json-rpc", Some(trace))
    );
    assert_eq!(client.ask(post(request("echo", 3))).await.status, 200);
    let entry = &history.entries(&Filter::default()).entries[0];
    let begun = entry.trace_id.unwrap().to_string();
    assert!(begun.len() == 32 && begun != trace, "a call without a trace begins one: {begun}");
    assert_eq!(client.ask(post("[1")).await.status, 200);
    let entry = &history.entries(&Filter::default()).entries[0];
    assert_eq!((entry.endpoint, entry.code), ("json-rpc", Some(code::PARSE_ERROR)));
    in_time("the end of the server", handle.stop()).await;
}

#[tokio::test]
async fn protocols() {
    let rows = [
        (Extensions::new(), ("in-process", "jsonrpc")),
        (Extensions::from_endpoint("stdio"), ("stdio", "jsonrpc")),
        (Extensions::from_endpoint("execute").with_protocol("native"), ("execute", "native")),
        (from("execute", Some("ada")).with_protocol("native"), ("execute", "native")),
        (
            from("execute", None).with_protocol("native").with_protocol("jsonrpc"),
            ("execute", "jsonrpc"),
        ),
    ];
    let (rpc, history) = recorded(HistoryConfig::default());
    for (extensions, expected) in rows {
        let batch = format!("[{},1]", request("echo", 1));
        for body in [request("echo", 1), batch, "[".to_owned()] {
            rpc.handle(body.clone().into(), extensions.clone()).await;
            let entry = &history.entries(&Filter::default()).entries[0];
            assert_eq!((entry.endpoint, entry.protocol), expected, "{body}");
        }
    }
}

#[tokio::test]
async fn truncates_names_and_ids() {
    let (rpc, history) = recorded(HistoryConfig::default());
    let long = "é".repeat(5_000);
    let body = json!({ "jsonrpc": "2.0", "method": long, "id": long }).to_string();
    rpc.handle(body.into(), from("test", Some(&long))).await;
    let entry = &history.entries(&Filter::default()).entries[0];
    let short = "é".repeat(64);
    assert_eq!(entry.method.as_deref(), Some(&*short));
    assert_eq!(entry.principal.as_deref(), Some(&*short));
    let id = trunkline::Id::from(&*long);
    let by_id = history.entries(&Filter { id: Some(id), ..Filter::default() });
    assert_eq!(by_id.entries.len(), 1, "{:?}", entry.id);
    let id_text = entry.id.as_ref().unwrap().as_raw();
    assert!(id_text.len() < 140 && serde_json::from_str::<String>(id_text).is_ok(), "{id_text}");
}

#[tokio::test]
async fn refusals_of_an_endpoint() {
    let (_, history) = recorded(HistoryConfig::default());
    history.record_refusal(
        &from("mcp", None),
        &ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated"),
    );
    let entry = &history.entries(&Filter::default()).entries[0];
    assert_eq!((entry.endpoint, entry.status), ("mcp", Status::Error));
    assert_eq!((entry.code, &entry.request), (Some(code::UNAUTHENTICATED), &None));
}
