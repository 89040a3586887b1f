//! A client that sends and accepts EDN, with servers that support it and others.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::Router;
use trunkline::client::{self, Client, Error, Http, ProtocolError, TransportError};
use trunkline::edn;
use trunkline::server::{self, ServerHandle};

use super::peer::{Answer, Peer};
use crate::support::{Gate, in_time, on_loopback, serve, serve_with};

fn http(server: &ServerHandle) -> Http {
    Http::connect(&format!("http://{}", server.local_addr())).unwrap().format(edn::FORMAT)
}

/// Calls a peer.
async fn called(peer: &Peer) -> Result<Value, Error> {
    let client = Client::new(Http::connect(&peer.url).unwrap().format(edn::FORMAT));
    in_time("a call", client.call("add", [40, 2]).into_future()).await
}

#[tokio::test]
async fn calls_and_batches() {
    let server = serve(on_loopback()).await;
    let client = Client::new(http(&server));
    assert_eq!(client.call::<i64>("subtract", [42, 23]).await.unwrap(), 19);
    let values = json!({"a/b": [1, -2.5, null, true], "not a keyword": "x\n\"\\", "n": 18446744073709551615_u64, "date": "2024-01-01"});
    assert_eq!(client.call::<Value>("echo", &values).await.unwrap(), values);
    client.notify("update", [1]).await.unwrap();

    let mut batch = client.batch();
    let sum = batch.add(client.call::<i64>("sum", [1, 2, 4]));
    let unknown = batch.add(client.call::<()>("nothing", ()));
    batch.notify(client.notify("update", [1]));
    let mut replies = batch.send().await.unwrap();
    assert_eq!(replies.take(sum).unwrap(), 7);
    let unknown = replies.take(unknown).unwrap_err();
    assert_eq!(unknown.error_object().unwrap().code(), -32601);

    let fail = json!({"code": 7, "message": "no", "data": {"a b": [1.5]}});
    let error = client.call::<()>("fail", &fail).await.unwrap_err();
    let error = error.error_object().unwrap();
    assert_eq!((error.code(), error.message()), (7, "no"));
    assert_eq!(error.data().unwrap().get(), r#"{"a b":[1.5]}"#);
}

/// EDN handlers receive the posted text, and their reply is read without conversion.
#[tokio::test]
async fn posts_and_reads_edn_text() {
    let same = |edn::Edn(params): edn::Edn<edn::Value>| params;
    let rpc = Router::new().method("same", same).build().unwrap();
    let server = serve_with(rpc, server::ServerConfig::default()).await;
    let request = r#"{:jsonrpc "2.0" :method "same" :params [:a #{1} #inst "2024"] :id :x}"#;
    let reply = http(&server).post(Default::default(), request.into()).await.unwrap();
    assert_eq!(reply.media_type(), "application/edn");
    let value = reply.text().await.unwrap().unwrap();
    let value: edn::Value = std::str::from_utf8(&value).unwrap().parse().unwrap();
    let expected = r#"{:jsonrpc "2.0", :result [:a #{1} #inst "2024-01-01T00:00:00Z"], :id :x}"#;
    assert_eq!(value, expected.parse::<edn::Value>().unwrap());

    // The same reply, converted to JSON.
    let reply = http(&server).post(Default::default(), request.into()).await.unwrap();
    let json = reply.json().await.unwrap().unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["result"], json!(["a", [1], "2024-01-01T00:00:00Z"]));
}

#[tokio::test]
async fn sends_edn_and_accepts_it() {
    let peer = Peer::always(Answer::http(
        "200 OK\nContent-Type: application/edn",
        r#"{:jsonrpc "2.0" :result 42 :id 1}"#,
    ))
    .await;
    assert_eq!(called(&peer).await.unwrap(), json!(42));
    let request = peer.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("\r\ncontent-type: application/edn; charset=utf-8"), "{head}");
    assert!(head.contains("\r\naccept: application/edn, application/json;q=0.5"), "{head}");
    assert_eq!(body.parse::<edn::Value>().unwrap().to_string(), body);
    let json = edn::json::to_string(&body.parse().unwrap()).unwrap();
    let expected = json!({"jsonrpc": "2.0", "method": "add", "params": [40, 2], "id": 1});
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
    assert!(body.starts_with("{:jsonrpc \"2.0\""), "{body}");
}

/// Replies are read by their media type.
#[tokio::test]
async fn reads_replies() {
    let edn = "200 OK\nContent-Type: application/edn";
    let rows = [
        (
            edn,
            r#"{:jsonrpc "2.0" :id 1 :result {:a #{:b} "c" 1.5M}}"#,
            Ok(json!({"a": ["b"], "c": 1.5})),
        ),
        (edn, r#"{"jsonrpc" "2.0" "id" 1 "result" nil}"#, Ok(json!(null))),
        (
            edn,
            r#"; so be it
            {:jsonrpc "2.0" :id 1.0 :result #inst "2024"}"#,
            Ok(json!("2024-01-01T00:00:00Z")),
        ),
        (
            "200 OK\nContent-Type: APPLICATION/EDN;charset=utf-8",
            r#"{:jsonrpc "2.0" :id 1 :result 1}"#,
            Ok(json!(1)),
        ),
        (
            "200 OK\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":1}"#,
            Ok(json!(1)),
        ),
        (
            "503 No\nContent-Type: application/edn",
            r#"{:jsonrpc "2.0" :id nil :error {:code 7 :message "no"}}"#,
            Err("no (7)"),
        ),
        (
            "503 No\nContent-Type: application/edn",
            r#"{:jsonrpc "2.0" :id 1 :result 1}"#,
            Err("HTTP 503"),
        ),
        ("503 No\nContent-Type: application/edn", "{", Err("HTTP 503")),
        (edn, "{:jsonrpc \"2.0\"\n :id 1 :result [1}", Err("invalid EDN: ")),
        (edn, "{:jsonrpc \"2.0\"\n :id 1 :result [1}", Err("line 2, column 18")),
        (edn, r#"{:jsonrpc "2.0" :id 1 :result [##Inf]}"#, Err("not convertible to JSON: ")),
        (edn, r#"{:jsonrpc "2.0" :id 1 :result [#a/b 1]}"#, Err("/result/0")),
        (edn, r#"{:jsonrpc "2.0" :id 2 :result 1}"#, Err("its id is 2, not 1")),
        (edn, r#"{:jsonrpc "2.0" :id 1}"#, Err("neither a result nor an error")),
        (edn, "\"\u{a0}", Err("invalid EDN: ")),
        (edn, "", Err("no reply to the call")),
        ("200 OK\nContent-Type: text/plain", "{}", Err("instead of JSON")),
    ];
    for (head, body, expected) in rows {
        let peer = Peer::always(Answer::http(head, body)).await;
        match (called(&peer).await, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(error), Err(part)) => {
                let text = error.to_string();
                assert!(text.contains(part), "{body}: {text}");
            }
            (found, _) => panic!("{body}: {found:?}"),
        }
    }
    let peer = Peer::always(Answer::http(edn, b"{:jsonrpc \"\xff\"}")).await;
    let error = called(&peer).await.unwrap_err();
    let is_malformed = matches!(&error, Error::Protocol(ProtocolError::Malformed { reason, .. }) if reason == "not UTF-8");
    assert!(is_malformed, "{error:?}");
}

/// A client without EDN rejects it.
#[tokio::test]
async fn rejects_edn_that_it_does_not_accept() {
    let body = r#"{:jsonrpc "2.0" :id 1 :result 1}"#;
    let peer = Peer::always(Answer::http("200 OK\nContent-Type: application/edn", body)).await;
    let client = Client::new(Http::connect(&peer.url).unwrap());
    let error = client.call::<i64>("add", [40, 2]).await.unwrap_err();
    assert!(matches!(error, Error::Protocol(ProtocolError::MediaType { .. })), "{error:?}");
}

/// Nothing is sent if params have no representation in EDN.
#[tokio::test]
async fn rejects_params_without_edn() {
    let peer = Peer::always(Answer::json("")).await;
    let client = Client::new(Http::connect(&peer.url).unwrap().format(edn::FORMAT));
    let params = serde_json::value::RawValue::from_string(r#"{"a":1,"a":2}"#.to_owned()).unwrap();
    let error = client.call::<i64>("add", params).await.unwrap_err();
    let Error::Transport(error) = error else { panic!("{error:?}") };
    assert!(
        matches!(&error, TransportError::Inconvertible { .. }) && error.is_unsent(),
        "{error:?}"
    );
    assert!(error.to_string().contains("in /params: duplicate key: \"a\""), "{error}");
    // A batch fails as a whole.
    let params = serde_json::value::RawValue::from_string(r#"{"a":1,"a":2}"#.to_owned()).unwrap();
    let mut batch = client.batch();
    drop(batch.add(client.call::<i64>("add", [40, 2])));
    drop(batch.add(client.call::<i64>("add", params)));
    let error = batch.send().await.err().unwrap();
    assert!(matches!(&error, Error::Transport(TransportError::Inconvertible { .. })), "{error:?}");
    assert!(error.to_string().contains("in /1/params: duplicate key: \"a\""), "{error}");
    assert_eq!(peer.connections(), 0);
}

/// A value without a representation in JSON makes the reply to a batch malformed as a whole, like invalid JSON.
#[tokio::test]
async fn rejects_batch_replies_without_json() {
    let good = r#"{:jsonrpc "2.0" :id 1 :result 1}"#;
    for bad in ["##Inf", "#a/b 1", "{:a 1 \"a\" 2}"] {
        let body = format!(r#"[{good} {{:jsonrpc "2.0" :id 2 :result [{bad}]}}]"#);
        let peer = Peer::always(Answer::http("200 OK\nContent-Type: application/edn", &body)).await;
        let client = Client::new(Http::connect(&peer.url).unwrap().format(edn::FORMAT));
        let mut batch = client.batch();
        drop(batch.add(client.call::<i64>("add", [1])));
        drop(batch.add(client.call::<Value>("add", [2])));
        let error = in_time("a batch", batch.send()).await.err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, Error::Protocol(ProtocolError::Malformed { .. })), "{error:?}");
        assert!(
            text.contains("not convertible to JSON: ") && text.contains("/1/result/0"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn calls_time_out() {
    let gate = Gate::new();
    let server = serve_with(gate.router().build().unwrap(), server::ServerConfig::default()).await;
    let settings =
        client::ClientConfig { timeout: Duration::from_millis(20), ..Default::default() };
    let client = Client::with_config(http(&server), settings);
    let ended = in_time("a call", client.call::<()>("wait", ()).into_future()).await;
    assert!(ended.unwrap_err().is_timeout());
}
