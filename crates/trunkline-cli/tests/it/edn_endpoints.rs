//! Calls of the database in EDN.

use serde_json::{Value, json};

use crate::support::{Server, tpch};

const EDN: &str = "application/edn; charset=utf-8";

/// Posts a body, and compares status, type and text of the reply, of which `expected` are parts in order.
#[track_caller]
fn check(server: &Server, head: &str, body: &str, answered: (u16, &str), expected: &[&str]) {
    let request =
        format!("POST {head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let reply = server.connect().ask(&request);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert_eq!((reply.status, reply.header("content-type").unwrap()), answered, "{text}");
    let mut rest = &*text;
    for part in expected {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part} in {text}"));
        rest = after;
    }
}

const POST: &str = "/rpc HTTP/1.1\r\nContent-Type: application/edn";

#[test]
fn calls() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let region = r#"{:jsonrpc "2.0" :method "db.execute_raw_query" :params {:query "select r_name, r_regionkey from region where r_regionkey = ?" :params [3]} :id :asia/one}"#;
    let rows = r#""EUROPE""#;
    let result = [r#"{:jsonrpc "2.0", :result {"#, rows, ":id :asia/one}"];
    for path in ["/", "/rpc", "/jsonrpc"] {
        let head = POST.replace("/rpc", path);
        check(&server, &head, region, (200, EDN), &result);
    }
    let batch = format!(r#"[{region} {{:jsonrpc "2.0" :method "db.list_tables" :id 2}}]"#);
    check(
        &server,
        POST,
        &batch,
        (200, EDN),
        &["[{", rows, ":id :asia/one} {", r#""region""#, ":id 2}]"],
    );
    let accept = "/ HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/edn";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"}).to_string();
    check(&server, accept, &call, (200, EDN), &[r#"{:jsonrpc "2.0", :result {"#, ":id 1}"]);
    let accept = format!("{POST}\r\nAccept: application/json");
    check(
        &server,
        &accept,
        region,
        (200, "application/json"),
        &[r#""result":{"#, rows, r#""id":"asia/one"}"#],
    );
}

#[test]
fn failures() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let failed = |code: i64| format!("{{:jsonrpc \"2.0\", :error {{:code {code}, ");
    let broken = r#"{:jsonrpc "2.0" :method "db.list_tables" :id 1"#;
    check(&server, POST, broken, (200, EDN), &[&failed(-32700), ":line 1", ":column", ":id nil}"]);
    let tagged = r#"{:jsonrpc "2.0" :method "db.execute_raw_query" :params {:query #my/sql "select 1"} :id :x}"#;
    let expected = [&*failed(-32603), r#":path "/params/query""#, "#my/sql", ":id :x}"];
    check(&server, POST, tagged, (200, EDN), &expected);
    let unsound = r#"{:jsonrpc "2.0" :method "db.describe_table" :params ["nowhere"] :id 1}"#;
    check(
        &server,
        POST,
        unsound,
        (200, EDN),
        &["{:jsonrpc \"2.0\", :error {:code -3", "nowhere", ":id 1}"],
    );
    let nowhere = POST.replace("/rpc", "/nowhere");
    check(&server, &nowhere, "{}", (404, EDN), &[&failed(-32009), ":status 404"]);
    // MCP is JSON only.
    let mcp = POST.replace("/rpc", "/mcp");
    check(&server, &mcp, tagged, (415, "application/json"), &[r#""status":415"#]);
    let health: Value = server.connect().get("/health").json();
    assert_eq!(health["status"], "healthy");
}
