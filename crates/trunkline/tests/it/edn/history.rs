//! History and limits of messages in EDN, which apply to the converted JSON.

use serde_json::{Value, json};
use trunkline::edn::{Edn, FORMAT, Value as EdnValue};
use trunkline::history::{Filter, History, HistoryConfig};
use trunkline::protocol::Formats;
use trunkline::{Extensions, Limits, Router, code};

use crate::support::login;

async fn handle(rpc: &trunkline::Rpc, body: &str) -> Option<String> {
    let formats = Formats::both(FORMAT);
    let reply = rpc.handle_in(formats, body.to_owned().into(), Extensions::new()).await;
    reply.into_text().map(|text| String::from_utf8(text).unwrap())
}

/// Compares the method, id, code, request and response of each entry, oldest first.
async fn check(body: &str, expected: Value) {
    let router =
        Router::new().method("echo", |Edn(params): Edn<EdnValue>| params).method("login", login);
    let history = History::new(HistoryConfig::default());
    let rpc = router.build().unwrap().with_history(history.clone());
    handle(&rpc, body).await;
    let page = history.entries(&Filter::default());
    let found = page.entries.iter().rev().map(|entry| {
        let entry = serde_json::to_value(&**entry).unwrap();
        json!([
            entry["method"],
            entry["id"],
            entry["code"],
            entry["request"]["text"],
            entry["response"]["text"]
        ])
    });
    assert_eq!(Value::from_iter(found), expected, "{body}");
}

#[tokio::test]
async fn history_is_json_and_redacted() {
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params [:a #{1}] :id :x}"#,
        json!([[
            "echo",
            "x",
            null,
            r#"{"jsonrpc":"2.0","method":"echo","params":["a",[1]],"id":"x"}"#,
            r#"{"jsonrpc":"2.0","result":["a",[1]],"id":"x"}"#
        ]]),
    )
    .await;
    check(
        r#"[{:jsonrpc "2.0" :method "login" :params {:user "u" :password "secret"} :id 1}
            {:jsonrpc "2.0" :method "login" :params ["u" "secret"]}]"#,
        json!([
            ["login", 1, null,
                r#"{"jsonrpc":"2.0","method":"login","params":{"user":"u","password":"[redacted]"},"id":1}"#,
                r#"{"jsonrpc":"2.0","result":"u","id":1}"#],
            ["login", null, null,
                r#"{"jsonrpc":"2.0","method":"login","params":["u","[redacted]"]}"#, null],
        ]),
    )
    .await;
    check(
        r#"{:jsonrpc "2.0" :method "login" :params {:password ##Inf} :id 1}"#,
        json!([["login", 1, -32603,
            r#"{"jsonrpc":"2.0","method":"login","id":1}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"JSON conversion error","data":{"path":"/params/password","reason":"JSON cannot represent ##Inf"}},"id":1}"#]]),
    )
    .await;
}

#[tokio::test]
async fn history_contains_the_errors_that_were_sent() {
    let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    for (result, limit, code) in [
        (r#"{"a":1,"a":2}"#.to_owned(), 1_000, -32603),
        (format!("[{}0]", "0.00001,".repeat(30)), 200, code::REPLY_TOO_LARGE),
    ] {
        let limits = Limits { reply_bytes: limit, ..Limits::default() };
        let router = Router::new().method("result", move || raw(&result)).limits(limits);
        let history = History::new(HistoryConfig::default());
        let rpc = router.build().unwrap().with_history(history.clone());
        let reply = handle(&rpc, r#"{:jsonrpc "2.0" :method "result" :id 1}"#).await.unwrap();
        assert!(reply.contains(&format!(":code {code}")), "{reply}");
        let page = history.entries(&Filter::default());
        let entry = serde_json::to_value(&*page.entries[0]).unwrap();
        assert_eq!((&entry["code"], &entry["status"]), (&json!(code), &json!("error")), "{entry}");
    }
}

#[tokio::test]
async fn counts_calls_without_json() {
    let rpc = Router::new().method("echo", |Edn(params): Edn<EdnValue>| params).build().unwrap();
    for params in ["[##Inf]", "[1]"] {
        handle(&rpc, &format!("{{:jsonrpc \"2.0\" :method echo :params {params} :id 1}}")).await;
    }
    let counted = &rpc.metrics()[0];
    assert_eq!((counted.started, counted.succeeded), (2, 1), "{counted:?}");
}

#[tokio::test]
async fn limits_the_bytes_of_replies() {
    let limits = Limits { reply_bytes: 400, ..Limits::default() };
    let router = Router::new().method("echo", |Edn(params): Edn<EdnValue>| params);
    let rpc = router.limits(limits).build().unwrap();
    let request = |length| {
        let text = "a".repeat(length);
        format!("{{:jsonrpc \"2.0\" :method \"echo\" :params [\"{text}\"] :id :x}}")
    };
    let too_large = format!(":code {}", code::REPLY_TOO_LARGE);
    for (body, count) in
        [(request(300), 0), (request(500), 1), (format!("[{} {}]", request(300), request(300)), 1)]
    {
        let reply = handle(&rpc, &body).await.unwrap();
        assert_eq!(reply.matches(&too_large).count(), count, "{reply}");
    }
}
