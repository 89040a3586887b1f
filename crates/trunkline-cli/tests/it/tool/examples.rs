//! The tools of `examples/tools`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use trunkline_command_tools::ProcessLimits;

use super::folder::{call, open};
use crate::support::PATIENCE;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tools").canonicalize().unwrap()
}

#[test]
fn all_examples_are_tools() {
    let (folder, rpc) = open(&examples(), ProcessLimits::default());
    let names: Vec<_> = folder.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["calculator", "current_time", "text_generation", "web_search"]);

    let time = call(&rpc, "current_time", &json!({})).unwrap();
    assert_eq!((&time["timezone"], time["utc"].as_str().unwrap().len()), (&json!("UTC"), 20));
    let error = call(&rpc, "current_time", &json!({ "timezone": "No/Where" })).unwrap_err();
    assert!(error.to_string().contains("unknown time zone No/Where"), "{error}");
    for no_zone in ["/Europe/Berlin", "leapseconds", "Europe", "zone1970/tab"] {
        let error = call(&rpc, "current_time", &json!({ "timezone": no_zone })).unwrap_err();
        assert!(error.to_string().contains("unknown time zone"), "{no_zone}: {error}");
    }
    let error = call(&rpc, "current_time", &json!({ "timezone": "$(id)" })).unwrap_err();
    assert_eq!(error.code(), -32602);
}

#[test]
#[ignore = "needs Python: cargo xtask example-tools"]
fn the_calculator_computes_exactly() {
    let (_folder, rpc) = open(&examples(), ProcessLimits::default());
    let calculate = |expression| call(&rpc, "calculator", &json!({ "expression": expression }));
    for (expression, result) in [
        ("2 * (0.1 + 0.2)", "0.6"),
        ("-2^2 + 2^3^2", "508"),
        ("1.5e-3 * (7 % -3)", "-0.003"),
        ("2^100", "1267650600228229401496703205376"),
    ] {
        let expected = json!({ "result": result, "exact": true });
        assert_eq!(calculate(expression).unwrap(), expected, "{expression}");
    }
    let third = format!("0.{}", "3".repeat(50));
    let expected = json!({ "result": third, "exact": false, "fraction": "1/3" });
    assert_eq!(calculate("1/3").unwrap(), expected);
    for (expression, expected) in [
        ("1/0", "division by zero"),
        ("2 x 3", "invalid expression: only numbers"),
        ("(1", "invalid expression: '(' was never closed"),
        ("2^0.5", "the exponent of a power must be an integer"),
        ("9^9^9^9", "number too large"),
        ("1e999999999", "number too large"),
    ] {
        let error = calculate(expression).unwrap_err().to_string();
        assert!(error.contains(expected), "{expression}: {error}");
    }
}

/// The exit code, stdout, and the last line of stderr of an example's script, with these variables.
fn script(name: &str, variables: &[(&str, &str)], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(examples().join(name));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A script that is not configured reads nothing.
    drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    let stdout = String::from_utf8(ended.stdout).unwrap();
    (ended.status.code(), stdout, stderr.lines().last().unwrap_or_default().to_owned())
}

/// Answers one request, and returns it.
fn answering(status: &'static str, body: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = String::new();
        let mut chunk = [0; 4096];
        while !is_whole(&request) {
            let count = stream.read(&mut chunk).unwrap();
            assert_ne!(count, 0, "{request}");
            request += std::str::from_utf8(&chunk[..count]).unwrap();
        }
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}", body.len());
        write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}").unwrap();
        request
    });
    (url, served)
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.unwrap().parse().unwrap()
}

/// Expects a script to fail with this message.
#[track_caller]
fn check_error(name: &str, variables: &[(&str, &str)], expected: &str) {
    let arguments = "{\"prompt\":\"x\",\"query\":\"x\"}\n";
    let (code, stdout, message) = script(name, variables, arguments);
    assert_eq!((code, &*stdout), (Some(1), ""), "{name}: {message}");
    assert!(message.starts_with(expected), "{name}: {message}");
}

#[test]
fn missing_configuration_is_an_error() {
    let unconfigured = "no model is configured: set TRUNKLINE_AGENT_URL";
    check_error("text_generation.sh", &[], unconfigured);
    check_error("web_search.sh", &[], "no search endpoint is configured: set WEB_SEARCH_URL");
}

#[test]
#[ignore = "needs curl: cargo xtask example-tools"]
fn failed_requests_are_errors() {
    // Port 1 refuses connections.
    let closed = [("WEB_SEARCH_URL", "http://127.0.0.1:1/")];
    check_error("web_search.sh", &closed, "the search endpoint cannot be reached");
    let closed = [("TRUNKLINE_AGENT_URL", "http://127.0.0.1:1"), ("TRUNKLINE_AGENT_MODEL", "m")];
    check_error("text_generation.sh", &closed, "the model at http://127.0.0.1:1 did not answer");
    let (url, served) = answering("500 Internal Server Error", "{}");
    check_error(
        "web_search.sh",
        &[("WEB_SEARCH_URL", &url)],
        "the search endpoint returned an error",
    );
    served.join().unwrap();
}

#[test]
#[ignore = "needs curl: cargo xtask example-tools"]
fn text_generation_calls_the_model() {
    let reply = r#"{"reasoning": {"content": "hm"}, "choices": [{"index": 0, "content": "no",
        "message": {"role": "assistant", "reasoning": {"content": "hm, \"content\":\"no\""},
        "content" : "A \"bee\" \\ \u00e9\n"}}]}"#;
    let (url, served) = answering("200 OK", reply);
    let base = format!("{url}/v1/");
    let variables = [
        ("TRUNKLINE_AGENT_URL", &*base),
        ("TRUNKLINE_AGENT_MODEL", "small"),
        ("TRUNKLINE_AGENT_KEY", "secret"),
    ];
    let prompt = r#"{"prompt":"say \"prompt\":\"x\" \\ é","max_tokens":9}"#;
    let (code, stdout, said) = script("text_generation.sh", &variables, &format!("{prompt}\n"));
    assert_eq!((code, &*said), (Some(0), ""));
    let text: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(text, json!({ "text": "A \"bee\" \\ é\n" }));

    let request = served.join().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(head.contains("Authorization: Bearer secret"), "{head}");
    let messages = json!([{ "role": "user", "content": "say \"prompt\":\"x\" \\ é" }]);
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({ "model": "small", "max_tokens": 9, "messages": messages }));
}

#[test]
#[ignore = "needs curl: cargo xtask example-tools"]
fn web_search_calls_the_endpoint() {
    let (url, served) = answering("200 OK", r#"{"results":[{"title":"Bees"}]}"#);
    let variables = [("WEB_SEARCH_URL", &*url), ("WEB_SEARCH_KEY", "secret")];
    let (code, stdout, _) = script("web_search.sh", &variables, "{\"query\":\"bees\"}\n");
    assert_eq!((code, &*stdout), (Some(0), r#"{"results":[{"title":"Bees"}]}"#));
    let request = served.join().unwrap();
    assert!(request.contains("Authorization: Bearer secret"), "{request}");
    assert!(request.ends_with("{\"query\":\"bees\"}\n"), "{request}");
}
