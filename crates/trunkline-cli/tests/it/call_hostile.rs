//! `trunkline call` against invalid and silent servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::call::{check, client};
use crate::call_peer::{Peer, http, json};

#[test]
fn rejects_invalid_responses() {
    let html = "502 Bad Gateway\nContent-Type: text/html";
    let page = "200 OK\nContent-Type: text/html; charset=utf-8";
    let redirect = "307 Temporary Redirect\nLocation: http://127.0.0.1:1/x";
    let events = "200 OK\nContent-Type: text/event-stream";
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"a"}}"#;
    let result = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;
    let rows: &[(&str, Vec<u8>, &str)] = &[
        ("another id", json(&result.replace(":1,", ":2,")), "its id is 2, not 1"),
        ("an id of text", json(&result.replace(":1,", ":\"01\",")), "its id is \"01\", not 1"),
        ("an error with another id", json(&error.replace(":1,", ":2,")), "its id is 2, not 1"),
        (
            "both",
            json(&result.replace('}', r#","error":{"code":1,"message":""}}"#)),
            "both a result and an error",
        ),
        ("neither", json(r#"{"jsonrpc":"2.0","id":1}"#), "neither a result nor an error"),
        ("no version", json(r#"{"id":1,"result":1}"#), "`jsonrpc` is missing"),
        ("version 1", json(&result.replace("2.0", "1.0")), "`jsonrpc` is not \"2.0\""),
        ("a batch", json(&format!("[{result}]")), "array in reply to a single call"),
        ("not UTF-8", [json("abc"), vec![]].concat().replace_tail(b"\xff\xfe\xfd"), "not UTF-8"),
        ("no JSON", json("\u{1b}[2J<html>"), r#"\u{1b}[2J<html>"#),
        (
            "HTML 502",
            http(html, "<html>\u{1b}]0;x\u{7}"),
            "HTTP 502 Bad Gateway, without a JSON-RPC reply: \"<html>",
        ),
        (
            "HTML 200",
            http(page, "<html>"),
            "reply has media type \"text/html\" instead of JSON: \"<html>\"",
        ),
        ("no type", http("200 OK", result), "reply has media type \"\" instead of JSON"),
        ("nothing", json(""), "with no reply to the call"),
        ("204", http("204 No Content", ""), "HTTP 204 No Content, with no reply"),
        ("events", http(events, &format!("data: {result}\n\n")), "\"text/event-stream\""),
        ("a redirect", http(redirect, ""), "redirect to \"http://127.0.0.1:1/x\" was not followed"),
        ("a result of 500", http("500 Oops\nContent-Type: application/json", result), "HTTP 500"),
        ("not HTTP", b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), "is not HTTP"),
    ];
    for (name, answer, stderr) in rows {
        let peer = Peer::always(answer.clone());
        check(name, &client(&["call", &peer.url, "m"]), 4, &[], &["trunkline: ", stderr]);
        assert_eq!(peer.asked().len(), 1, "{name}");
    }
}

#[test]
fn prints_errors() {
    let error = |more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32000,"message":"no"{more}}}}}"#)
    };
    let status = |status: &str| format!("{status}\nContent-Type: application/json; charset=utf-8");
    let rows: &[(&str, Vec<u8>, &str)] = &[
        ("200", json(&error("")), "error -32000: no\n"),
        ("400", http(&status("400 Bad Request"), &error("")), "error -32000: no\n"),
        ("401", http(&status("401 Unauthorized"), &error("")), "--bearer"),
        ("text", json(&error(r#","data":"a\u001b[2J\nb""#)), "  data: a\\u{1b}[2J\\nb\n"),
        (
            "members",
            json(&error(r#","data":{"a\n":"b","c":[1, 2],"d":null}"#)),
            "  a\\n: b\n  c: [1, 2]\n",
        ),
        ("null", json(&error(r#","data":null"#)), "error -32000: no\n"),
        (
            "message",
            json(&error("").replace("no", "\\u001b[2J\\nok")),
            "error -32000: \\u{1b}[2J\\nok\n",
        ),
    ];
    for (name, answer, stderr) in rows {
        let peer = Peer::always(answer.clone());
        check(name, &client(&["call", &peer.url, "m"]), 1, &[], &[stderr]);
    }
}

#[test]
fn reports_broken_connections() {
    let truncated =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    for (name, answer, stderr) in [
        ("nothing at all", &b""[..], "closed before the reply was complete"),
        ("half a head", b"HTTP/1.1 200 OK\r\nConte", "closed before the reply was complete"),
        ("half a body", truncated, "closed before the reply was complete"),
    ] {
        let peer = Peer::always(answer);
        check(name, &client(&["call", &peer.url, "m"]), 3, &[], &[stderr]);
    }

    let refused = client(&["call", "http://127.0.0.1:1", "m"]);
    let stderr =
        ["cannot connect to http://127.0.0.1:1", "because: Connection refused", "start the server"];
    check("no listener", &refused, 3, &[], &stderr);
    let unknown = client(&["call", "http://no-such-host.invalid", "m"]);
    check(
        "no such host",
        &unknown,
        3,
        &[],
        &["cannot connect", "because: ", "try: check the host"],
    );

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(stream.read(&mut [0; 4096]));
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let stderr = ["cannot connect", "try: use http://"];
    check("no TLS", &client(&["call", &url, "m"]), 3, &[], &stderr);
}

#[test]
fn limits_time_and_size() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // The kernel accepts the connection; the server does not reply.
    for command in [["call", &url, "m"], ["tools", &url, "t"]] {
        let ended = client(&[&command[..], &["--timeout-ms", "300"]].concat());
        check("silent", &ended, 3, &[], &["300 ms", "try: increase --timeout-ms"]);
    }
    drop(listener);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let flood = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(stream.read(&mut [0; 4096]));
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
        let mut sent = stream.write(head).unwrap();
        let block = vec![b' '; 1 << 20];
        while let Ok(count) = stream.write(&block) {
            sent += count;
        }
        sent
    });
    let ended = client(&["call", &url, "m"]);
    check("endless", &ended, 4, &[], &["67108864 bytes"]);
    assert!(flood.join().unwrap() < 100 << 20);
}

#[test]
fn sends_notifications() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
    let page = "200 OK\nContent-Type: text/html";
    let html = "502 Bad Gateway\nContent-Type: text/html";
    let refused = "400 Bad Request\nContent-Type: application/json";
    let rows: &[(&str, Vec<u8>, i32, &[&str])] = &[
        ("204", http("204 No Content", ""), 0, &[]),
        ("202", http("202 Accepted", ""), 0, &[]),
        ("200", json(""), 0, &[]),
        ("a page", http(page, "<html>"), 4, &["\"text/html\"", "\"<html>\""]),
        (
            "a result",
            json(r#"{"jsonrpc":"2.0","id":1,"result":1}"#),
            4,
            &["unexpected reply to a notification"],
        ),
        ("an error", json(error), 1, &["error -32600: no"]),
        ("an error of 400", http(refused, error), 1, &["error -32600: no"]),
        ("502", http(html, "<html>"), 4, &["HTTP 502"]),
    ];
    for (name, answer, code, stderr) in rows {
        let peer = Peer::always(answer.clone());
        check(name, &client(&["call", &peer.url, "m", "--notify"]), *code, &[], stderr);
        assert!(peer.asked()[0].json().get("id").is_none(), "{name}");
    }
}

trait ReplaceTail {
    /// Replaces the last bytes.
    fn replace_tail(self, tail: &[u8]) -> Self;
}

impl ReplaceTail for Vec<u8> {
    fn replace_tail(mut self, tail: &[u8]) -> Self {
        self.truncate(self.len() - tail.len());
        self.extend_from_slice(tail);
        self
    }
}
