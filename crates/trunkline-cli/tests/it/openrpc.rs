//! `trunkline openrpc`, and `GET /openrpc.json`.

use serde_json::{Value, json};

use crate::call::{check, client};
use crate::call_peer::{Peer, json as json_answer};
use crate::support::{Server, tpch};

#[test]
fn prints_the_document() {
    let (folder, path) = tpch();
    let server = Server::of(&path);
    let url = format!("http://{}", server.address);

    let printed = client(&["openrpc", &url]);
    check("indented", &printed, 0, &["{\n  \"openrpc\": \"1.3.2\",\n  \"info\": {\n"], &[]);
    let document: Value = serde_json::from_str(&printed.stdout).unwrap();
    let names: Vec<_> =
        document["methods"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert!(names.contains(&&json!("db.query_records")), "{names:?}");

    let line = client(&["openrpc", &url, "--json"]);
    check("in one line", &line, 0, &["{\"openrpc\":\"1.3.2\",\"info\":{"], &[]);
    assert_eq!(line.stdout.lines().count(), 1);

    let page = server.connect().get("/openrpc.json");
    assert_eq!(page.status, 200);
    assert_eq!(page.json(), document, "the page");

    let file = folder.path().join("openrpc.json");
    let written = client(&["openrpc", &url, "--out", file.to_str().unwrap()]);
    check("to a file", &written, 0, &[], &[]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), printed.stdout);

    let nowhere = folder.path().join("no such folder").join("openrpc.json");
    let refused = client(&["openrpc", &url, "--out", nowhere.to_str().unwrap()]);
    check(
        "to no file",
        &refused,
        1,
        &[],
        &["trunkline: cannot write ", "openrpc.json: No such file"],
    );
}

#[test]
fn rejects_other_documents() {
    let answer = |result: &str| json_answer(&format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#));
    let none: &[&str] = &[];
    let no_document = ["the result of rpc.discover is not an OpenRPC document"];
    let rows = [
        ("a text", r#""result":"<!doctype html>""#, 1, no_document.as_slice()),
        ("another object", r#""result":{"openapi":"3.1"}"#, 1, &no_document),
        ("no methods", r#""result":{"openrpc":"1.3.2"}"#, 1, &no_document),
        (
            "a server without it",
            r#""error":{"code":-32601,"message":"Method not found"}"#,
            1,
            &["error -32601: Method not found"],
        ),
        ("neither", r#""other":1"#, 4, &["trunkline: "]),
    ];
    for (name, result, code, stderr) in rows {
        let peer = Peer::always(answer(result));
        check(name, &client(&["openrpc", &peer.url]), code, none, stderr);
        assert_eq!(peer.asked()[0].json()["method"], "rpc.discover", "{name}");
    }
    check("no server", &client(&["openrpc", "http://127.0.0.1:1"]), 3, none, &["trunkline: "]);
}
