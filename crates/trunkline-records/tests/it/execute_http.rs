//! `/execute` and the other paths over HTTP: authentication, methods, and the content of `/forms`.

use serde_json::{Value, json};
use trunkline::http;

use crate::execute::check_refused;
use crate::test_server::{Client, Setup, TestServer, post, types};

#[tokio::test]
async fn requests_rejected_by_http() {
    let json = "Content-Type: application/json\r\n";
    let mut guarded = http::HttpConfig { max_body: 4 << 10, ..Default::default() };
    guarded.bearer.allow("secret");
    let mut server = TestServer::with(Setup { http: guarded, ..Setup::default() }).await;
    let token = format!("{json}Authorization: Bearer secret\r\n");
    let read = r#"{"command":"read","resource":"todo","id":"a"}"#;
    let head = "HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n";
    let large = format!(
        r#"{{"command":"create","resource":"todo","payload":{{"title":"{}"}}}}"#,
        "x".repeat(5_000)
    );
    let rows = [
        (
            "no token",
            post("/execute", json, read),
            401,
            "*Bearer*",
            Some(("www-authenticate", "Bearer")),
        ),
        (
            "a wrong token",
            post("/execute", &format!("{json}Authorization: Bearer x\r\n"), read),
            401,
            "*token*",
            None,
        ),
        (
            "no type",
            post("/execute", "Authorization: Bearer secret\r\n", read),
            415,
            "*Content-Type*",
            None,
        ),
        (
            "another type",
            post("/execute", "Authorization: Bearer secret\r\nContent-Type: text/plain\r\n", read),
            415,
            "*application/json*",
            None,
        ),
        (
            "a coding",
            post("/execute", &format!("{token}Content-Encoding: gzip\r\n"), read),
            415,
            "*Content-Encoding*",
            None,
        ),
        (
            "an origin",
            post("/execute", &format!("{token}Origin: https://evil.example\r\n"), read),
            403,
            "*evil.example*",
            None,
        ),
        (
            "GET",
            format!("GET /execute {head}").into_bytes(),
            405,
            "*does not support GET*",
            Some(("allow", "POST")),
        ),
        ("PUT", format!("PUT /repeat {head}").into_bytes(), 405, "*does not support PUT*", None),
        (
            "POST /forms",
            post("/forms", &token, "{}"),
            405,
            "*does not support POST*",
            Some(("allow", "GET,HEAD")),
        ),
        ("too large", post("/execute", &token, large), 413, "*4096 bytes*", None),
    ];
    for (name, request, status, reason, header) in rows {
        let reply = Client::connect(server.handle.local_addr()).await.ask(request).await;
        check_refused(name, &reply, status, reason);
        if let Some((header, value)) = header {
            assert_eq!(reply.header(header), Some(value), "{name}");
        }
    }
    let reply = server.ask(post("/execute", &token, read)).await;
    check_refused("let in", &reply, 404, "*");
    server.stop().await;
}

#[tokio::test]
async fn forms_describe_all_commands() {
    let mut server = TestServer::new().await;
    let reply = server.ask("GET /forms HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    let forms = reply.json();
    let forms = forms.as_array().unwrap();
    // Job control clients find the paths by these keys.
    for (rel, method) in [
        ("execute", "POST"),
        ("repeat", "POST"),
        ("revert", "POST"),
        ("forms", "GET"),
        ("ping", "GET"),
    ] {
        let form = forms.iter().find(|form| form["rel"] == rel).unwrap();
        assert_eq!(form["method"], method, "{rel}");
        assert_eq!(form["href"], format!("http://localhost/{rel}"), "{rel}");
    }
    let behind_a_proxy =
        "GET /forms HTTP/1.1\r\nHost: localhost:1\r\nX-Forwarded-Proto: https\r\n\r\n";
    let first = server.ask(behind_a_proxy).await.json()[0]["href"].clone();
    assert_eq!(first, "https://localhost:1/execute");
    let ping = server.ask("GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((ping.status, ping.text()), (200, r#"{"status":"ok"}"#));
    let types = types();
    for kind in types.iter() {
        for verb in trunkline_records::Verb::ALL {
            let method = format!("{}.{verb}", kind.name());
            let form = forms.iter().find(|form| form["rel"] == *method);
            let form = form.unwrap_or_else(|| panic!("{method} is not described"));
            assert_eq!(
                (&form["command"], &form["resource"]),
                (&json!(verb.as_str()), &json!(kind.name()))
            );
            assert_eq!(form["href"], "http://localhost/execute");
            let fields: Vec<&str> =
                kind.fields().iter().map(trunkline_records::Field::name).collect();
            assert_eq!(form["fields"], json!(fields), "{method}");
            let mut input = form["input"].clone();
            for limit in ["/properties/limit", "/properties/metadata/properties/limit"] {
                let limit = input.pointer_mut(limit).and_then(Value::as_object_mut);
                let most = limit.and_then(|limit| limit.remove("maximum"));
                assert!(most.is_none_or(|most| most == 1_000), "{method}");
            }
            // Only updates accept null.
            let mut published = trunkline::Schema::from(kind.input(verb));
            if verb != trunkline_records::Verb::Update {
                published = published.without_null_options();
            }
            assert_eq!(input, *published.as_value(), "{method}");
            assert_eq!(form["output"], kind.output(verb), "{method}");
            assert!(form["title"].is_string() && form["description"].is_string(), "{method}");
        }
    }
    let list = forms.iter().find(|form| form["rel"] == "todo.list").unwrap();
    assert_eq!(list["input"]["properties"]["limit"]["maximum"], 1_000);
    let flags = |method: &str| {
        let form = forms.iter().find(|form| form["rel"] == method).unwrap();
        ["readOnly", "destructive", "idempotent"].map(|flag| form[flag].as_bool().unwrap())
    };
    assert_eq!(flags("todo.read"), [true, false, true]);
    assert_eq!(flags("todo.create"), [false, false, false]);
    assert_eq!(flags("todo.update"), [false, true, false]);
    assert_eq!(flags("todo.revert"), [false, true, true]);
    let filter = forms.iter().find(|form| form["rel"] == "todo.filter").unwrap();
    let description = filter["input"]["description"].as_str().unwrap();
    assert!(description.contains("does not match"), "{description}");
    let head = server.ask("HEAD /forms HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((head.status, head.text()), (200, ""));
    server.stop().await;
}
