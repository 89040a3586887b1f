//! Bodies and their replies (JSON-RPC 2.0, sections 4 and 5), byte for byte.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tower::Service;
use trunkline::protocol::Reply;
use trunkline::{
    Call, CancellationToken, ErrorObject, Extensions, Id, Limits, Params, RawParams, Router, Rpc,
    code,
};

fn reply(rpc: &Rpc, body: &[u8]) -> Reply {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(rpc.handle(body.to_vec().into(), Extensions::new()))
}

/// The text of the reply, or empty.
fn text(reply: Reply) -> String {
    String::from_utf8(reply.into_json().unwrap_or_default()).unwrap()
}

/// Compares the text of the reply to `body`. Empty without a reply.
#[track_caller]
fn check(rpc: &Rpc, body: impl AsRef<[u8]>, expected: &str) {
    let body = body.as_ref();
    assert_eq!(text(reply(rpc, body)), expected, "{}", String::from_utf8_lossy(body));
}

/// Checks the code and the text of the error for a body without a valid id.
#[track_caller]
fn refused(rpc: &Rpc, body: impl AsRef<[u8]>, code: i64, data: &str) {
    let reply = reply(rpc, body.as_ref());
    assert_eq!(reply.code(), Some(code), "{reply:?}");
    let message = if code == -32700 { "Parse error" } else { "Invalid Request" };
    let error = format!(r#"{{"code":{code},"message":"{message}","data":{data}}}"#);
    assert_eq!(text(reply), format!(r#"{{"jsonrpc":"2.0","error":{error},"id":null}}"#));
}

fn service() -> Router {
    Router::new()
        .method("one", || 1)
        .method("echo", |RawParams(params): RawParams| params)
        .method("later", async || "later")
        .method("fails", || Err::<(), _>(ErrorObject::new(-7, "no \"way\"").with_data("π")))
        .method("panics", || -> () { panic!("a secret") })
        .method("text", |Params((length,)): Params<(usize,)>| "x".repeat(length))
}

fn rpc() -> Rpc {
    service().build().unwrap()
}

#[test]
fn replies_with_the_result_or_the_error() {
    let rpc = rpc();
    let body = |method, id| format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":{id}}}"#);
    check(&rpc, body("one", "7"), r#"{"jsonrpc":"2.0","result":1,"id":7}"#);
    check(&rpc, body("later", "null"), r#"{"jsonrpc":"2.0","result":"later","id":null}"#);
    check(&rpc, body("echo", "\"\""), r#"{"jsonrpc":"2.0","result":null,"id":""}"#);
    let error = r#"{"code":-7,"message":"no \"way\"","data":"π"}"#;
    check(&rpc, body("fails", "7"), &format!(r#"{{"jsonrpc":"2.0","error":{error},"id":7}}"#));
    let error = r#"{"code":-32601,"message":"Method not found","data":{"method":"é\n"}}"#;
    let expected = format!(r#"{{"jsonrpc":"2.0","error":{error},"id":7}}"#);
    check(&rpc, body("\\u00e9\\n", "7"), &expected);
    check(
        &rpc,
        r#"{"jsonrpc":"2.0","method":"echo","params":[ 1.0, "\u0041" ],"id":7}"#,
        r#"{"jsonrpc":"2.0","result":[ 1.0, "\u0041" ],"id":7}"#,
    );
}

#[test]
fn never_replies_to_a_notification() {
    let rpc = rpc();
    for method in ["one", "later", "fails", "panics", "unknown", "text", "rpc.discover", ""] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        assert!(reply(&rpc, body.as_bytes()).is_none(), "{method}");
        check(&rpc, format!("[{body},{body}]"), "");
    }
}

#[test]
fn reports_the_offset_of_invalid_json() {
    let rpc = rpc();
    refused(&rpc, "", -32700, r#"{"reason":"the body is empty","offset":0}"#);
    refused(&rpc, " \r\n", -32700, r#"{"reason":"the body is empty","offset":0}"#);
    refused(&rpc, "{", -32700, r#"{"reason":"unexpected end of input","offset":1}"#);
    refused(&rpc, "{}x", -32700, r#"{"reason":"text after the end of the value","offset":2}"#);
    let reason = "expected ',' or the end of the array or object";
    refused(&rpc, "[1;2]", -32700, &format!(r#"{{"reason":"{reason}","offset":2}}"#));
    refused(&rpc, b"\"\xff\"", -32700, r#"{"reason":"the body is not UTF-8","offset":1}"#);
    let reason = r"lone surrogate in a \\u escape";
    refused(&rpc, r#""\ud800""#, -32700, &format!(r#"{{"reason":"{reason}","offset":1}}"#));
    let deep = "[".repeat(129);
    refused(&rpc, deep, -32700, r#"{"reason":"nested deeper than the limit","offset":128}"#);
}

#[test]
fn reports_the_member_of_an_invalid_request() {
    let rpc = rpc();
    refused(&rpc, "1", -32600, r#"{"reason":"a request must be an object"}"#);
    refused(&rpc, "[]", -32600, r#"{"reason":"a batch must contain at least one request"}"#);
    let reason = r#"{"reason":"`jsonrpc` is missing; expected \"2.0\"","member":"jsonrpc"}"#;
    refused(&rpc, "{}", -32600, reason);
    let rows = [
        (r#""jsonrpc":"1.0","method":"one""#, r#"`jsonrpc` must be \"2.0\"","member":"jsonrpc"#),
        (r#""jsonrpc":"2.0""#, r#"`method` is missing","member":"method"#),
        (r#""jsonrpc":"2.0","method":1"#, r#"`method` must be a string","member":"method"#),
        (
            r#""jsonrpc":"2.0","method":"one","params":1"#,
            r#"`params` must be an array or an object, or be omitted","member":"params"#,
        ),
        (
            r#""jsonrpc":"2.0","method":"one","meth\u006fd":"one""#,
            r#"duplicate member","member":"method"#,
        ),
        (r#""jsonrpc":"2.0","result":1"#, r#"expected a request, found a response"#),
    ];
    for (members, data) in rows {
        let data = format!(r#"{{"reason":"{data}"}}"#);
        let error = format!(r#"{{"code":-32600,"message":"Invalid Request","data":{data}}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","error":{error},"id":1.50}}"#);
        check(&rpc, format!(r#"{{{members},"id":1.50}}"#), &expected);
        let expected = expected.replace("1.50", "null");
        check(&rpc, format!("{{{members}}}"), &expected);
    }
    let data = r#"{"reason":"`id` must be a string, a number or null","member":"id"}"#;
    refused(&rpc, r#"{"jsonrpc":"2.0","method":"one","id":[]}"#, -32600, data);
    let data = r#"{"reason":"duplicate member","member":"id"}"#;
    refused(&rpc, r#"{"jsonrpc":"2.0","method":"one","id":1,"id":1}"#, -32600, data);
}

#[test]
fn a_reply_over_the_limit_is_replaced() {
    let rpc = service().limits(Limits { reply_bytes: 300, ..Limits::default() }).build().unwrap();
    let body = |length, id| {
        format!(r#"{{"jsonrpc":"2.0","method":"text","params":[{length}],"id":{id}}}"#)
    };
    let result =
        |length, id| format!(r#"{{"jsonrpc":"2.0","result":"{}","id":{id}}}"#, "x".repeat(length));
    let around = result(0, 1).len();
    check(&rpc, body(300 - around, 1), &result(300 - around, 1));
    let reason =
        "the replies to this body exceed the limit; request less data or send smaller batches";
    let data = format!(r#"{{"limit_bytes":300,"reason":"{reason}"}}"#);
    let error = format!(r#"{{"code":-32006,"message":"Reply too large","data":{data}}}"#);
    let expected = format!(r#"{{"jsonrpc":"2.0","error":{error},"id":1}}"#);
    let reply = reply(&rpc, body(301 - around, 1).as_bytes());
    assert_eq!(reply.code(), Some(code::REPLY_TOO_LARGE), "{reply:?}");
    assert_eq!(text(reply), expected);
}

#[test]
fn applies_the_configured_depth_limit() {
    let rpc = service().limits(Limits { depth: 3, ..Limits::default() }).build().unwrap();
    let body = |params| format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":1}}"#);
    check(&rpc, body("[[]]"), r#"{"jsonrpc":"2.0","result":[[]],"id":1}"#);
    let data = r#"{"reason":"nested deeper than the limit","offset":44}"#;
    refused(&rpc, body("[[[]]]"), -32700, data);
}

/// Any valid JSON text of an id.
fn ids() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,5})?",
        any::<String>().prop_map(|id| Value::from(id).to_string()),
        r#""([ !#-\[\]-~é€😀]|\\["\\/bfnrt]|\\u[0-9a-cA-CeEfF][0-9a-fA-F]{3}|\\ud83[dD]\\uDe[0-9a-f]{2}){0,20}""#,
    ]
}

proptest! {
    #[test]
    fn an_id_comes_back_byte_for_byte(id in ids(), other in ids(), space in "[ \t\r\n]{0,3}") {
        let rpc = rpc();
        let body = |method: &str, id: &str| {
            format!(r#"{{"id":{space}{id}{space},"jsonrpc":"2.0","method":"{method}"}}"#)
        };
        let result = |id: &str| format!(r#"{{"jsonrpc":"2.0","result":1,"id":{id}}}"#);
        prop_assert_eq!(text(reply(&rpc, body("one", &id).as_bytes())), result(&id));
        let batch = format!("[{}{space},{}]", body("one", &id), body("one", &other));
        let results = format!("[{},{}]", result(&id), result(&other));
        prop_assert_eq!(text(reply(&rpc, batch.as_bytes())), results);

        let end = format!(r#","id":{id}}}"#);
        for refused in [body("unknown", &id), body("panics", &id), format!(r#"{{"id":{id}}}"#)] {
            prop_assert!(text(reply(&rpc, refused.as_bytes())).ends_with(&end));
        }
    }

    #[test]
    fn params_reach_the_handler_unchanged(params in any::<Vec<(String, f64, Option<String>)>>()) {
        let params = serde_json::to_string(&params).unwrap();
        let body = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":1}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{params},"id":1}}"#);
        prop_assert_eq!(text(reply(&rpc(), body.as_bytes())), expected);
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn a_method_can_be_called_without_a_transport() {
    let rpc = rpc();
    assert_eq!(wait(rpc.call::<i64>("one", &[0; 0])).unwrap(), 1);
    let params = json!({ "a": ["é", null] });
    assert_eq!(wait(rpc.call::<Value>("echo", &params)).unwrap(), params);
    let error = |method, params: &Value| wait(rpc.call::<i64>(method, params)).unwrap_err().code();
    assert_eq!(error("fails", &json!([])), -7);
    assert_eq!(error("a \"method\"\n", &json!([])), code::METHOD_NOT_FOUND);
    assert_eq!(error("one", &json!([1])), code::INVALID_PARAMS);
    assert_eq!(wait(rpc.call::<i64>("one", &())).unwrap(), 1, "no params");
    assert_eq!(error("one", &json!(7)), code::INVALID_PARAMS);
    assert_eq!(error("one", &json!("[]")), code::INVALID_PARAMS);
    assert_eq!(error("later", &json!([])), code::INTERNAL_ERROR, "the result is not an i64");
}

#[test]
fn refuses_invalid_params_without_a_transport() {
    let nested = |depth: usize| {
        RawValue::from_string(format!("{}{}", "[".repeat(depth), "]".repeat(depth))).unwrap()
    };
    let rpc = rpc();
    let call = |method, params: &RawValue| wait(rpc.call::<Box<RawValue>>(method, &params));
    assert_eq!(call("echo", &nested(1_024)).unwrap().get(), nested(1_024).get());
    for params in [
        nested(1_025),
        nested(1_000_000),
        RawValue::from_string(r#"["\ud800"]"#.to_owned()).unwrap(),
    ] {
        for method in ["text", "echo"] {
            assert_eq!(call(method, &params).unwrap_err().code(), code::INVALID_PARAMS);
        }
    }
}

#[test]
fn the_service_is_a_tower_service_of_calls() {
    let mut rpc = rpc();
    let call = Call::request(&Id::from("a"), "echo", &[1]).unwrap();
    assert_eq!((call.method().as_ref(), call.params()), ("echo", Some(b"[1]".as_slice())));
    assert_eq!(call.id(), Some(Id::from("a")));
    assert!(!call.is_notification());
    assert!(call.operation().is_none(), "it is found by the service");
    let Ok(outcome) = wait(Service::call(&mut rpc, call));
    assert_eq!(outcome.as_result().unwrap(), b"[1]");
}

#[test]
fn dropping_the_reply_future_cancels_the_calls() {
    let seen = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&seen);
    let rpc = Router::new()
        .method("waits", move |token: CancellationToken| {
            *slot.lock().unwrap() = Some(token);
            pending::<()>()
        })
        .build()
        .unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let call = r#"{"jsonrpc":"2.0","method":"waits","id":1}"#;
    for body in [call.to_owned(), format!("[1,{call}]")] {
        let token = {
            let mut reply = pin!(rpc.handle(body.into(), Extensions::new()));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(reply.as_mut().poll(&mut cx), Poll::Pending));
            let token = seen.lock().unwrap().take().expect("the call runs");
            assert!(!token.is_cancelled());
            token
        };
        assert!(token.is_cancelled());
    }
}
