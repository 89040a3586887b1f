//! EDN over HTTP: media types, replies and refusals.

use trunkline::http::{HttpConfig, StatusPolicy};
use trunkline::limits::MemoryBudget;
use trunkline::server::{self, Phase, ServerHandle};
use trunkline::{ErrorObject, Limits, Router, code};

use crate::support::{Client, Gate, Reply, in_time, on_loopback, serve, serve_with, until};

const CALL: &str = r#"{:jsonrpc "2.0" :method "subtract" :params [42 23] :id 1}"#;
const RESULT: &str = r#"{:jsonrpc "2.0", :result 19, :id 1}"#;
const EDN: &str = "application/edn; charset=utf-8";

/// A POST of EDN with further header lines, each with its CRLF.
fn post(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    post_type("application/edn", headers, body)
}

fn post_type(media: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n{headers}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn ask(server: &ServerHandle, request: impl AsRef<[u8]>) -> Reply {
    Client::connect(server.local_addr()).await.ask(request).await
}

#[track_caller]
fn text(reply: &Reply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

/// A reply in EDN.
#[track_caller]
fn check(name: &str, reply: &Reply, status: u16, expected: &str) {
    assert_eq!(text(reply), expected, "{name}");
    let found = (reply.status, reply.header("content-type"));
    assert_eq!(found, (status, Some(EDN)), "{name}: {reply:?}");
}

#[tokio::test]
async fn messages() {
    let server = serve(on_loopback()).await;
    let rows: &[(&str, &str)] = &[
        (CALL, RESULT),
        (
            r#"{"jsonrpc" "2.0" "method" "subtract" "params" {"minuend" 42 :subtrahend 23} "id" 1}"#,
            RESULT,
        ),
        (
            r#"[{:jsonrpc "2.0" :method "sum" :params [1 2 4] :id "a"} {:jsonrpc "2.0" :method "update" :params [1]} 7]"#,
            r#"[{:jsonrpc "2.0", :result 7, :id "a"} {:jsonrpc "2.0", :error {:code -32600, :message "Invalid Request", :data {:reason "a request must be an object"}}, :id nil}]"#,
        ),
        (
            r#"{:jsonrpc "2.0" :method "fail" :params {:code 7 :message "no" :data {:a/b [nil]}} :id #uuid "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"}"#,
            r#"{:jsonrpc "2.0", :error {:code 7, :message "no", :data {:a/b [nil]}}, :id #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}"#,
        ),
        (
            r#"{:jsonrpc "2.0" :method "nothing" :id :a/b}"#,
            r#"{:jsonrpc "2.0", :error {:code -32601, :message "Method not found", :data {:method "nothing"}}, :id :a/b}"#,
        ),
    ];
    for (body, expected) in rows {
        check(body, &ask(&server, post("", body)).await, 200, expected);
    }
    let notifications = r#"[{:jsonrpc "2.0" :method "update"} {:jsonrpc "2.0" :method "update"}]"#;
    for body in [r#"{:jsonrpc "2.0" :method "update" :params [1]}"#, notifications] {
        let reply = ask(&server, post("", body)).await;
        assert_eq!((reply.status, text(&reply)), (204, ""), "{body}");
        assert_eq!(reply.header("content-type"), None, "{body}");
    }
}

/// Invalid EDN is -32700, with the position.
#[tokio::test]
async fn rejects_invalid_edn() {
    let server = serve(on_loopback()).await;
    let two_calls = CALL.repeat(2);
    let rows: &[(&[u8], &[&str])] = &[
        (b"{:jsonrpc \"2.0\"\n :method \"echo\" :params [1 2}", &[":line 2", ":column 29"]),
        (b"", &[":line 1", ":column 1"]),
        (two_calls.as_bytes(), &[":line 1", ":column 58"]),
        (
            br#"{:jsonrpc "2.0" :method "echo" :params [#inst "2024-13"] :id 1}"#,
            &["\\\"2024-13\\\" is not an instant", ":path \"/params/0\""],
        ),
        (
            br#"{:jsonrpc "2.0" :method "echo" :params [1/0] :id 1}"#,
            &["division by zero", ":path \"/params/0\""],
        ),
        (
            br#"{:jsonrpc "2.0" :method "echo" :params {:a 1 :a 2} :id 1}"#,
            &[":a", ":path \"/params"],
        ),
        (b"{:jsonrpc \"2.0\" :method \"\xff\"}", &["UTF-8", ":offset 25"]),
    ];
    for (body, parts) in rows {
        let name = String::from_utf8_lossy(body);
        let reply = ask(&server, post("", body)).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(EDN)), "{name}");
        let start = r#"{:jsonrpc "2.0", :error {:code -32700, :message "Parse error", :data {:"#;
        assert!(text(&reply).starts_with(start), "{name}: {}", text(&reply));
        assert!(text(&reply).ends_with(":id nil}"), "{name}: {}", text(&reply));
        for part in *parts {
            assert!(text(&reply).contains(part), "{part} of {name}: {}", text(&reply));
        }
    }
}

/// A value without a representation in JSON is -32603, and fails only its member of a batch.
#[tokio::test]
async fn rejects_values_without_json() {
    let server = serve(on_loopback()).await;
    let rows = [
        ("[1 #my/tag {}]", "/params/1", "#my/tag"),
        ("[##Inf]", "/params/0", "##Inf"),
        ("[[1] {:b [##NaN]}]", "/params/1/b/0", "##NaN"),
        ("{nil 1}", "/params", "nil"),
        ("{:a {:b 1, \"b\" 2}}", "/params/a", "b"),
    ];
    for (params, path, reason) in rows {
        for (id, answered) in [("1", "1"), (":k", ":k"), ("sym", "sym")] {
            let call = format!(r#"{{:jsonrpc "2.0" :method "echo" :params {params} :id {id}}}"#);
            let start = format!(
                r#"{{:jsonrpc "2.0", :error {{:code -32603, :message "JSON conversion error", :data {{:path "{path}", :reason ""#
            );
            let end = format!(":id {answered}}}");
            let is_error = |found: &str| {
                found.starts_with(&start) && found.ends_with(&end) && found.contains(reason)
            };
            let reply = ask(&server, post("", &call)).await;
            assert_eq!((reply.status, reply.header("content-type")), (200, Some(EDN)), "{call}");
            assert!(is_error(text(&reply)), "{call}\n{start}\n{}", text(&reply));

            let reply = ask(&server, post("", format!("[{CALL} {call} {CALL}]"))).await;
            let members = text(&reply).strip_prefix(&format!("[{RESULT} "));
            let member = members.and_then(|rest| rest.strip_suffix(&format!(" {RESULT}]")));
            assert!(member.is_some_and(is_error), "{call}: {}", text(&reply));

            // A notification has no reply.
            let notification = call.replace(&format!(" :id {id}"), "");
            assert_eq!(ask(&server, post("", notification)).await.status, 204, "{call}");

            let reply = ask(&server, post("Accept: application/json\r\n", &call)).await;
            let error = &reply.json()["error"];
            assert_eq!((&error["code"], &error["data"]["path"]), (&(-32603).into(), &path.into()));
        }
    }
}

#[tokio::test]
async fn media_types() {
    let server = serve(on_loopback()).await;
    for media in [
        "application/edn",
        "Application/EDN",
        "application/edn;charset=utf-8",
        "application/edn; charset=\"UTF-8\"",
        "application/edn;",
    ] {
        check(media, &ask(&server, post_type(media, "", CALL)).await, 200, RESULT);
    }
    // The format of the reply does not depend on an unsupported media type.
    let json = "application/json";
    for (media, answered) in [
        ("application/edn; charset=latin1", json),
        ("application/edn, application/edn", json),
        ("application/ednx", json),
        ("application/x-edn", json),
        ("text/edn", json),
    ] {
        let reply = ask(&server, post_type(media, "", CALL)).await;
        let found = (reply.status, reply.header("content-type"));
        assert_eq!(found, (415, Some(answered)), "{media}");
        let reason = reply.json()["error"]["data"]["reason"].clone();
        let expected = "unsupported media type; send text in UTF-8 with Content-Type: \
                        application/json or application/edn";
        assert_eq!(reason, expected, "{media}");
    }
}

/// The format of replies by `Content-Type` and `Accept`. `accept.rs` tests the parser of the header.
#[tokio::test]
async fn replies_in_the_accepted_format() {
    let server = serve(on_loopback()).await;
    let (json, edn) = ("application/json", "application/edn");
    let rows = [
        (json, "", json),
        (json, "*/*", json),
        (json, "application/json", json),
        (json, "application/edn", edn),
        (json, "application/edn, application/json;q=0.5", edn),
        (json, "application/json;q=0.2\r\nAccept: application/edn;q=0.3", edn),
        (json, "application/edn;q=0", json),
        (json, "text/html", json),
        (json, "application/edn;q=x", json),
        (edn, "", edn),
        (edn, "*/*", edn),
        (edn, "application/*", edn),
        (edn, "application/edn", edn),
        (edn, "application/json", json),
        (edn, "application/json, application/edn", edn),
        (edn, "application/json, */*;q=0.9", json),
        (edn, "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", edn),
    ];
    for (media, accept, expected) in rows {
        let is_json = media == json;
        let call = if is_json { crate::support::CALL } else { CALL };
        let headers = match accept {
            "" => String::new(),
            accept => format!("Accept: {accept}\r\n"),
        };
        let request = |body: &str| post_type(media, &headers, body);
        let reply = ask(&server, request(call)).await;
        let (content_type, result) =
            if expected == json { (json, crate::support::RESULT) } else { (EDN, RESULT) };
        let name = format!("{media}, accepting {accept}");
        assert_eq!(text(&reply), result, "{name}");
        assert_eq!(reply.header("content-type"), Some(content_type), "{name}");

        // Also to batches and to invalid messages.
        let reply = ask(&server, request(&format!("[{call}]"))).await;
        assert_eq!(text(&reply), format!("[{result}]"), "{name}");
        let reply = ask(&server, request("[")).await;
        assert_eq!(reply.header("content-type"), Some(content_type), "{name}");
        assert!(text(&reply).contains("-32700"), "{name}: {}", text(&reply));
    }
}

/// Refusals by HTTP have the format of the reply.
#[tokio::test]
async fn refusals() {
    let mut settings = HttpConfig { max_body: 100, ..on_loopback() };
    settings.bearer.allow("secret");
    let server = serve(settings).await;
    let token = "Authorization: Bearer secret\r\n";
    let request = post(token, CALL);
    let request = String::from_utf8(request).unwrap();
    let rows = [
        ("401", request.replace(token, ""), Some(("www-authenticate", "Bearer"))),
        ("403", request.replace("localhost", "example.com"), None),
        ("403", request.replace(token, "Origin: http://example.com\r\n"), None),
        ("404", request.replace("POST /", "POST /other"), None),
        ("405", request.replace("POST", "PUT"), Some(("allow", "POST"))),
        ("400", request.replace(token, "Host: localhost\r\n"), None),
        (
            "413",
            String::from_utf8(post(token, "x".repeat(101))).unwrap(),
            Some(("connection", "close")),
        ),
        (
            "415",
            request.replace(token, &format!("{token}Content-Encoding: gzip\r\n")),
            Some(("accept-encoding", "identity")),
        ),
        ("417", request.replace(token, &format!("{token}Expect: x\r\n")), None),
    ];
    for (status, request, header) in rows {
        let reply = ask(&server, &request).await;
        let found = (reply.status.to_string(), reply.header("content-type"));
        assert_eq!(found, (status.to_owned(), Some(EDN)), "{request}");
        let data = ":data {:reason \"";
        assert!(text(&reply).starts_with("{:jsonrpc \"2.0\", :error {:code -320"), "{reply:?}");
        assert!(text(&reply).contains(data), "{}", text(&reply));
        assert!(
            text(&reply).ends_with(&format!("\", :status {status}}}}}, :id nil}}")),
            "{}",
            text(&reply)
        );
        if let Some((name, value)) = header {
            assert_eq!(reply.header(name), Some(value), "{request}");
        }
        let wants_json = request
            .replace("application/edn\r\n", "application/edn\r\nAccept: application/json\r\n");
        let reply = ask(&server, wants_json).await;
        assert_eq!(reply.json()["error"]["data"]["status"].to_string(), status);
    }
}

#[tokio::test]
async fn statuses_of_errors() {
    let limited = |data: &str| {
        ErrorObject::new(code::RATE_LIMITED, "Too many")
            .with_data(&serde_json::json!({ data: 1_500 }))
    };
    let refused = |code| move || -> Result<(), ErrorObject> { Err(ErrorObject::new(code, "no")) };
    let rpc = Router::new()
        .method("name", refused(code::UNAUTHENTICATED))
        .method("may", refused(code::FORBIDDEN))
        .method("fails", refused(code::INTERNAL_ERROR))
        .method("often", move || -> Result<(), ErrorObject> { Err(limited("retry_after_ms")) })
        .build()
        .unwrap();
    let settings = HttpConfig { status_policy: StatusPolicy::ByError, ..on_loopback() };
    let server = serve_with(rpc.http_with(settings), server::ServerConfig::default()).await;
    let scope = "Bearer error=\"insufficient_scope\"";
    let rows = [
        ("name", 401, Some(("www-authenticate", "Bearer"))),
        ("may", 403, Some(("www-authenticate", scope))),
        ("often", 429, Some(("retry-after", "2"))),
        ("fails", 500, None),
        ("\"", 400, None),
    ];
    for (method, status, header) in rows {
        let call = format!(r#"{{:jsonrpc "2.0" :method "{method}" :id 1}}"#);
        let reply = ask(&server, post("", call)).await;
        let found = (reply.status, reply.header("content-type"));
        assert_eq!(found, (status, Some(EDN)), "{method}: {}", text(&reply));
        assert!(text(&reply).starts_with("{:jsonrpc \"2.0\", :error {:code -32"), "{method}");
        if let Some((name, value)) = header {
            assert_eq!(reply.header(name), Some(value), "{method}");
        }
    }
}

/// Refusals by the server are in EDN, too.
#[tokio::test]
async fn refusals_while_draining_and_over_the_memory_budget() {
    let gate = Gate::new();
    let limits = Limits { memory: MemoryBudget::new(64 << 10), ..Default::default() };
    let router = gate.router().method("large", || "x".repeat(100_000)).limits(limits);
    let server = serve_with(router.build().unwrap(), server::ServerConfig::default()).await;

    let reply = ask(&server, post("", r#"{:jsonrpc "2.0" :method "large" :id 1}"#)).await;
    let start =
        r#"{:jsonrpc "2.0", :error {:code -32006, :message "Reply too large", :data {:reason "the"#;
    assert_eq!((reply.status, reply.header("content-type")), (503, Some(EDN)));
    assert!(text(&reply).starts_with(start), "{}", text(&reply));

    let (mut waits, address) = (Client::connect(server.local_addr()).await, server.local_addr());
    waits.send(post("", r#"{:jsonrpc "2.0" :method "wait" :id 1}"#)).await;
    until("the call", || gate.entered() == 1).await;
    let stopping = {
        let server = server.clone();
        tokio::spawn(async move { server.stop().await })
    };
    until("the server to drain", || server.status().phase >= Phase::Draining).await;
    let reply = Client::connect(address).await.ask(post("", CALL)).await;
    let start = r#"{:jsonrpc "2.0", :error {:code -32005, :message "Server is busy", :data {:reason "server"#;
    assert_eq!((reply.status, reply.header("content-type")), (503, Some(EDN)));
    assert!(text(&reply).starts_with(start), "{}", text(&reply));
    gate.open(1);
    check("the call", &waits.reply().await, 200, r#"{:jsonrpc "2.0", :result "done", :id 1}"#);
    in_time("the end", stopping).await.unwrap();
}
