//! `trunkline tools`, against servers of old and new versions of MCP.

use serde_json::{Value, json};

use crate::call::{check, client};
use crate::call_peer::{Asked, Peer, http, json as json_answer};
use crate::support::{Server, tpch};

/// The tools of a server, one of each kind.
pub(crate) fn tools() -> Value {
    json!([
        {
            "name": "query",
            "description": "Reads rows of a table. Then more.",
            "annotations": {"readOnlyHint": true, "destructiveHint": false},
            "inputSchema": {"type": "object", "required": ["table"], "properties": {
                "table": {"type": "string", "description": "The table. It must exist."},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "region": {"type": "string", "x-mcp-header": "Region"},
            }},
        },
        {
            "name": "drop\u{1b}[2J",
            "annotations": {"destructiveHint": true},
            "inputSchema": {"type": "object"},
        },
    ])
}

/// The exit code, and parts of stdout and of stderr.
pub(crate) type Expected<'e> = (i32, &'e [&'e str], &'e [&'e str]);

/// A JSON-RPC response to a request.
pub(crate) fn result(asked: &Asked, result: &Value) -> Vec<u8> {
    let id = &asked.json()["id"];
    json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

pub(crate) fn error(asked: &Asked, status: &str, error: &Value) -> Vec<u8> {
    let id = &asked.json()["id"];
    let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
    http(&format!("{status}\nContent-Type: application/json"), &body.to_string())
}

/// The replies of a server of 2026-07-28. `called` is the result of every tool.
pub(crate) fn modern(asked: &Asked, called: &Value) -> Vec<u8> {
    match asked.json()["method"].as_str().unwrap() {
        "server/discover" => result(asked, &json!({"supportedVersions": ["2026-07-28"]})),
        "tools/list" => result(asked, &json!({"tools": tools(), "resultType": "complete"})),
        "tools/call" => result(asked, called),
        other => panic!("{other}"),
    }
}

#[test]
fn lists_tools() {
    let peer = Peer::new(|asked| modern(asked, &json!({})));
    let expected = "\
query  (read-only)
  Reads rows of a table.
    table*  string   The table.
    limit   integer
    region  string

drop\\u{1b}[2J  (destructive)

2 tools (* required argument)
";
    check("people", &client(&["tools", &peer.url]), 0, &[expected], &[]);
    let ended = client(&["tools", &peer.url, "--json"]);
    check("programs", &ended, 0, &["["], &[]);
    assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap(), tools());

    let empty = Peer::new(|asked| match asked.json()["method"].as_str() {
        Some("tools/list") => result(asked, &json!({"tools": []})),
        _ => modern(asked, &json!({})),
    });
    check("none", &client(&["tools", &empty.url]), 0, &["no tools\n"], &[]);
}

#[test]
fn prints_formats() {
    let peer = Peer::new(|asked| modern(asked, &json!({})));
    for (format, expected) in [
        ("table", "name           access       arguments              description\n"),
        (
            "csv",
            "name,access,arguments,description\nquery,read-only,\"limit, region, table*\",Reads",
        ),
        ("vertical", "-[ row 1 ]--------------\nname         query\naccess       read-only\n"),
        ("ndjson", "{\"annotations\":{"),
    ] {
        let ended = client(&["tools", &peer.url, "--format", format]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.starts_with(expected), "{format}: {}", ended.stdout);
    }
    let table = json!({"columns": [{"name": "a"}], "rows": [[1]], "next_cursor": null});
    let text = json!({"content": [{"type": "text", "text": table.to_string()}]});
    let data = json!({"content": [], "structuredContent": table});
    for answer in [text, data] {
        let peer = Peer::new(move |asked| modern(asked, &answer));
        for flags in [&["--format", "csv"][..], &["--format", "csv", "--all"]] {
            let ended = client(&[&["tools", &peer.url, "query"], flags].concat());
            check("CSV", &ended, 0, &["a\n1\n"], &[]);
        }
    }
}

#[test]
fn follows_cursors() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = server.address.to_string();
    let command = ["tools", &url, "query_records", "table_name=nation", "limit=10", "--all"];
    let ended = client(&[&command[..], &["--format", "ndjson"]].concat());
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 25), "{ended:?}");
}

#[test]
fn uses_a_real_server() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let url = format!("http://{}", server.address);
    let list = ["list_tables  (read-only)\n  Lists ", "\n    table_name*  string  "];
    check("list", &client(&["tools", &url]), 0, &list, &[]);
    let query = ["tools", &url, "query_records", "table_name=region"];
    let rows = ["r_name\n-------\nAFRICA\nAMERICA\n2 rows"];
    let ended = client(&[&query[..], &[r#"columns=["r_name"]"#, "limit=2"]].concat());
    check("rows", &ended, 0, &rows, &[]);
    let ended = client(&[&query[..], &["limit=many"]].concat());
    check("an argument of another type", &ended, 1, &[], &["limit"]);
    let ended = client(&["tools", &url, "describe_table", "table_name=regionx"]);
    check("a failure", &ended, 1, &[], &["did you mean `region`?"]);
}

#[test]
fn reads_pages_of_tools() {
    let page = |asked: &Asked, is_endless: bool| {
        let page =
            asked.json()["params"]["cursor"].as_str().map_or(0, |page| page.parse().unwrap());
        let tool = json!({"name": format!("t{page}"), "inputSchema": {}});
        let next = (page < 2 || is_endless).then(|| (page + 1).to_string());
        result(asked, &json!({"tools": [tool], "nextCursor": next}))
    };
    for (is_endless, code, stdout, stderr) in [
        (false, 0, &["t0\n\nt1\n\nt2\n\n3 tools"][..], &[][..]),
        (true, 4, &[], &["has more than 100 pages"]),
    ] {
        let peer = Peer::new(move |asked| match asked.json()["method"].as_str() {
            Some("tools/list") => page(asked, is_endless),
            _ => modern(asked, &json!({})),
        });
        check("pages", &client(&["tools", &peer.url]), code, stdout, stderr);
    }
}

#[test]
fn omits_tools_with_invalid_headers() {
    let peer = Peer::new(|asked| match asked.json()["method"].as_str() {
        Some("tools/list") => {
            let bad = json!({"type": "number", "x-mcp-header": "A"});
            let bad = json!({"name": "bad", "inputSchema": {"properties": {"a": bad}}});
            result(asked, &json!({"tools": [bad, {"name": "good", "inputSchema": {}}]}))
        }
        _ => modern(asked, &json!({"content": []})),
    });
    let list = client(&["tools", &peer.url]);
    check(
        "list",
        &list,
        0,
        &["good\n\n1 tool"],
        &["omitted tool bad: `x-mcp-header` of `a` requires"],
    );
    check(
        "call",
        &client(&["tools", &peer.url, "bad"]),
        1,
        &[],
        &["tool `bad` cannot be called: "],
    );
}

#[test]
fn sends_requests() {
    let peer = Peer::new(|asked| modern(asked, &json!({"content": []})));
    let url = format!("{}/a/mcp", peer.url);
    let words = ["table=42", "limit=42", "region=eu ä", "other=true", "more:=[1.50]"];
    let ended = client(&[&["tools", &url, "query", "--bearer", "t0ken"], &words[..]].concat());
    check("call", &ended, 0, &[], &[]);
    let asked = peer.asked();
    let methods: Vec<_> = asked.iter().map(|asked| asked.header("mcp-method").unwrap()).collect();
    assert_eq!(methods, ["server/discover", "tools/list", "tools/call"]);
    for asked in &asked {
        assert!(asked.head.starts_with("post /a/mcp http/1.1\r\n"), "{asked:?}");
        assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("authorization"), Some("bearer t0ken"));
        let meta = &asked.json()["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "trunkline");
        assert_eq!(
            meta["io.modelcontextprotocol/clientCapabilities"],
            json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
        );
    }
    let [.., call] = &asked[..] else { panic!() };
    assert_eq!(call.header("mcp-name"), Some("query"));
    // Base64, in lower case like all headers here.
    assert_eq!(call.header("mcp-param-region"), Some("=?base64?zxugw6q=?="));
    let arguments =
        r#""arguments":{"table":"42","limit":42,"region":"eu ä","other":true,"more":[1.50]}"#;
    assert!(call.body.contains(arguments), "{call:?}");

    // The default path is /mcp.
    for (given, asked) in [("", "/mcp"), ("/", "/mcp"), ("/?a=b", "/?a=b"), ("/mcp/", "/mcp/")] {
        let peer = Peer::new(|asked| modern(asked, &json!({"content": []})));
        check(given, &client(&["tools", &format!("{}{given}", peer.url), "query"]), 0, &[], &[]);
        let head = &peer.asked()[0].head;
        assert!(head.starts_with(&format!("post {asked} http/1.1\r\n")), "{given}: {head}");
    }
}

#[test]
fn prints_results() {
    let table = json!({"columns": [{"name": "a"}], "rows": [[1]]});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let link = json!({"type": "resource_link", "uri": "file:///a"});
    let text = json!({"type": "text", "text": "one\n\u{1b}[2Jtwo"});
    let mixed = json!({"content": [text, image, link]});
    let failed = json!({"content": [text], "structuredContent": table, "isError": true});
    let rows: &[(&str, Value, &[&str], Expected<'_>)] = &[
        (
            "a table",
            json!({"content": [text], "structuredContent": table}),
            &[],
            (0, &["a\n-\n1\n1 row\n"], &[]),
        ),
        ("a scalar", json!({"content": [], "structuredContent": 1.5}), &[], (0, &["1.5\n"], &[])),
        (
            "text",
            mixed,
            &[],
            (0, &["one\n\\u{1b}[2Jtwo\n[image/png, 3 bytes]\n[resource: file:///a]\n"], &[]),
        ),
        (
            "json",
            json!({"content": [], "structuredContent": 1.5}),
            &["--json"],
            (0, &["\"structuredContent\":1.5"], &[]),
        ),
        ("failed", failed.clone(), &[], (1, &[], &["one\n\\u{1b}[2Jtwo\n"])),
        ("failed, json", failed, &["--json"], (1, &[], &["\"isError\":true"])),
        (
            "asks",
            json!({"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}),
            &[],
            (4, &[], &["the server requires input from the client (roots/list)"]),
        ),
        ("none", json!([]), &[], (4, &[], &["the result of tools/call does not conform to MCP"])),
    ];
    for (name, called, flags, (code, stdout, stderr)) in rows {
        let called = called.clone();
        let peer = Peer::new(move |asked| modern(asked, &called));
        let ended = client(&[&["tools", &peer.url, "query"], *flags].concat());
        check(name, &ended, *code, stdout, stderr);
    }
    let peer = Peer::new(|asked| modern(asked, &json!({})));
    let unknown = client(&["tools", &peer.url, "nope"]);
    let stderr = ["unknown tool `nope`\n  try: list the tools with `trunkline tools`\n"];
    check("unknown", &unknown, 1, &[], &stderr);
    assert_eq!(peer.asked().len(), 2);
    let similar = client(&["tools", &peer.url, "querry"]);
    check("similar", &similar, 1, &[], &["unknown tool `querry`\n  try: query\n"]);
}

#[test]
fn reads_event_streams() {
    let stream = |text: &str| http("200 OK\nContent-Type: text/event-stream", text);
    // `ID` is that of the call.
    let answer =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    let failed = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}"#;
    let other = answer.replace("ID", "4");
    let rows: &[(&str, String, Expected<'_>)] = &[
        ("alone", format!("data: {answer}\n\n"), (0, &["done\n"], &[])),
        (
            "after others",
            format!(
                ": hi\n\nid: 1\ndata:\n\nevent: message\ndata: {progress}\n\ndata: {ping}\n\ndata: {answer}\n\n"
            ),
            (0, &["done\n"], &[]),
        ),
        (
            "lines",
            format!("data: {}\n\n", answer.replace(",\"id", "\ndata: ,\"id")),
            (0, &["done\n"], &[]),
        ),
        ("an error", format!("data: {failed}\n\n"), (1, &[], &["error -32602: no"])),
        ("another id", format!("data: {other}\n\n"), (4, &[], &["its id is 4, not "])),
        ("no JSON", "data: \u{1b}[2J\n\n".to_owned(), (4, &[], &["invalid JSON-RPC 2.0 response"])),
        ("cut off", format!("data: {answer}\n"), (4, &[], &["no reply to the call with id "])),
    ];
    for (name, text, (code, stdout, stderr)) in rows {
        let text = text.clone();
        let peer = Peer::new(move |asked| match asked.json()["method"].as_str() {
            Some("tools/call") => stream(&text.replace("ID", &asked.json()["id"].to_string())),
            _ => modern(asked, &json!({})),
        });
        check(name, &client(&["tools", &peer.url, "query"]), *code, stdout, stderr);
    }
}
