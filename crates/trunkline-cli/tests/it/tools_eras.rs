//! How `trunkline tools` detects the protocol version of a server.

use serde_json::{Value, json};

use crate::call::{check, client};
use crate::call_peer::{Asked, Peer, http};
use crate::tools::{error, modern, result, tools};

const LIST: &[&str] = &["2 tools"];

/// A server of an older version, with a session unless `session` is empty.
fn legacy(asked: &Asked, version: &str, session: &str) -> Vec<u8> {
    if asked.head.starts_with("delete ") {
        return http("204 No Content", "");
    }
    match asked.json()["method"].as_str().unwrap() {
        "initialize" => {
            let found = json!({"protocolVersion": version, "capabilities": {"tools": {}}});
            let answer = String::from_utf8(result(asked, &found)).unwrap();
            let session = format!("\r\nMCP-Session-Id: {session}\r\nConnection");
            if session.contains(": \r") {
                answer
            } else {
                answer.replace("\r\nConnection", &session)
            }
            .into_bytes()
        }
        "notifications/initialized" => http("202 Accepted", ""),
        "tools/list" => result(asked, &json!({"tools": tools()})),
        "tools/call" => result(asked, &json!({"content": [{"type": "text", "text": "done"}]})),
        other => panic!("{other}"),
    }
}

/// Checks the outcome of a reply to the probe, and the methods that are called.
#[track_caller]
fn probe(
    name: &str,
    answer: impl Fn(&Asked) -> Vec<u8> + Send + 'static,
    (code, stdout, stderr): (i32, &[&str], &[&str]),
    methods: &[&str],
) {
    let peer = Peer::new(move |asked| {
        let is_probe = asked.body.contains("server/discover");
        let is_modern = asked.head.contains("mcp-protocol-version: 2026-07-28");
        match (is_probe, is_modern) {
            (true, _) => answer(asked),
            (_, true) => modern(asked, &json!({})),
            _ => legacy(asked, "2025-11-25", ""),
        }
    });
    check(name, &client(&["tools", &peer.url]), code, stdout, stderr);
    let asked: Vec<String> = peer.asked().iter().map(method).collect();
    assert_eq!(asked, methods, "{name}");
}

fn method(asked: &Asked) -> String {
    let end = || asked.head.split(' ').next().unwrap().to_owned();
    let body: Option<Value> = serde_json::from_str(&asked.body).ok();
    body.and_then(|body| Some(body["method"].as_str()?.to_owned())).unwrap_or_else(end)
}

#[test]
fn detects_versions() {
    const MODERN: &[&str] = &["server/discover", "tools/list"];
    const LEGACY: &[&str] =
        &["server/discover", "initialize", "notifications/initialized", "tools/list"];
    const NEITHER: &[&str] = &["server/discover"];
    let unsupported = |versions: Value| {
        let data = json!({"supported": versions, "requested": "2026-07-28"});
        json!({"code": -32022, "message": "Unsupported protocol version", "data": data})
    };
    let lists = |versions: Value| {
        move |asked: &Asked| result(asked, &json!({"supportedVersions": versions}))
    };
    let fails =
        |status: &'static str, object: Value| move |asked: &Asked| error(asked, status, &object);
    let replies = |head: &'static str, body: &'static str| move |_: &Asked| http(head, body);
    let no_method = json!({"code": -32601, "message": "Method not found"});
    let not_ready = json!({"code": -32600, "message": "Bad Request: Server not initialized"});
    let listed: (i32, &[&str], &[&str]) = (0, LIST, &[]);
    let other: &[&str] = &["MCP", "2027-01-01"];
    let (bad, ok) = ("400 Bad Request", "200 OK");

    probe("modern", lists(json!(["2026-07-28"])), listed, MODERN);
    probe("both", lists(json!(["2025-11-25", "2026-07-28"])), listed, MODERN);
    probe("lists older ones", lists(json!(["2025-11-25"])), listed, LEGACY);
    probe("lists newer ones", lists(json!(["2027-01-01"])), (4, &[], other), NEITHER);
    probe("refused, older", fails(bad, unsupported(json!(["2025-06-18"]))), listed, LEGACY);
    probe(
        "refused, newer",
        fails(bad, unsupported(json!(["2027-01-01"]))),
        (4, &[], other),
        NEITHER,
    );
    let bare = json!({"code": -32022, "message": "no"});
    probe("refused, no list", fails(bad, bare), (1, &[], &["error -32022: no"]), NEITHER);
    for code in [-32020, -32021] {
        let stderr: &[&str] = &["error -3202"];
        probe(
            "modern error",
            fails(bad, json!({"code": code, "message": "no"})),
            (1, &[], stderr),
            NEITHER,
        );
    }
    probe("400, not ready", fails(bad, not_ready), listed, LEGACY);
    probe(
        "400, text",
        replies("400 Bad Request\nContent-Type: text/plain", "No session"),
        listed,
        LEGACY,
    );
    probe("400, empty", replies("400 Bad Request", ""), listed, LEGACY);
    probe("404", fails("404 Not Found", no_method.clone()), listed, LEGACY);
    probe("404, empty", replies("404 Not Found", ""), listed, LEGACY);
    probe("405", replies("405 Method Not Allowed", ""), listed, LEGACY);
    probe("500", replies("500 Oops", ""), listed, LEGACY);
    probe("200, no method", fails(ok, no_method), listed, LEGACY);
    probe("200, anything", |asked: &Asked| result(asked, &json!({})), listed, LEGACY);

    let token: (i32, &[&str], &[&str]) = (4, &[], &["HTTP 401", "--bearer"]);
    probe("401", replies("401 Unauthorized", ""), token, NEITHER);
    probe("403", replies("403 Forbidden", ""), (4, &[], &["HTTP 403"]), NEITHER);
    let redirect = "308 Permanent Redirect\nLocation: /other";
    probe("308", replies(redirect, ""), (4, &[], &["redirect to \"/other\""]), NEITHER);
}

#[test]
fn reports_other_endpoints() {
    let peer = Peer::always(http("404 Not Found\nContent-Type: text/html", "<html>"));
    let stderr =
        ["the server does not support MCP", "HTTP 404 Not Found", "<html>", "check the path"];
    check("no MCP", &client(&["tools", &peer.url]), 4, &[], &stderr);
    let methods: Vec<String> = peer.asked().iter().map(method).collect();
    assert_eq!(methods, ["server/discover", "initialize", "get"]);
}

#[test]
fn keeps_sessions() {
    for (version, session) in [("2025-11-25", "s-1"), ("2025-06-18", ""), ("2025-03-26", "s-2")] {
        let peer = Peer::new(move |asked| match asked.body.contains("server/discover") {
            true => http("400 Bad Request", ""),
            false => legacy(asked, version, session),
        });
        let ended = client(&["tools", &peer.url, "query", "table=1", "region=eu"]);
        check(version, &ended, 0, &["done\n"], &[]);
        let asked = peer.asked();
        let methods: Vec<String> = asked.iter().skip(1).map(method).collect();
        let mut expected =
            vec!["initialize", "notifications/initialized", "tools/list", "tools/call"];
        expected.extend((!session.is_empty()).then_some("delete"));
        assert_eq!(methods, expected, "{version}");
        let begun = &asked[1].json()["params"];
        assert_eq!(begun["protocolVersion"], "2025-11-25");
        assert_eq!(begun["clientInfo"]["name"], "trunkline");
        assert_eq!(begun["capabilities"], json!({}));
        assert_eq!(asked[1].header("mcp-session-id"), None);
        for asked in &asked[2..] {
            let sent = asked.header("mcp-session-id");
            assert_eq!(sent, Some(session).filter(|session| !session.is_empty()), "{asked:?}");
            assert_eq!(asked.header("mcp-protocol-version"), Some(version), "{asked:?}");
            assert!(!asked.body.contains("io.modelcontextprotocol"), "{asked:?}");
            for header in ["mcp-method", "mcp-name", "mcp-param-region"] {
                assert_eq!(asked.header(header), None, "{asked:?}");
            }
        }
    }
    let peer = Peer::new(|asked| match asked.body.contains("server/discover") {
        true => http("400 Bad Request", ""),
        false => legacy(asked, "1999-01-01", ""),
    });
    check("another", &client(&["tools", &peer.url]), 4, &[], &["MCP", "1999-01-01"]);
}
