//! The entries of `tools/list`, and the results that depend on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Extensions, Json, JsonSchema, Operation, Params, Router};
use trunkline_mcp::tools::{ClientResults, Results};
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{expanded, in_time, legacy, modern};

/// A number.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Number {
    /// Its value.
    value: Option<i64>,
}

fn same(Params(number): Params<Number>) -> Json<Number> {
    Json(number)
}

fn one() -> i64 {
    1
}

fn text(_: &[u8], outcome: Result<&[u8], &ErrorObject>) -> String {
    if outcome.is_ok() { "as text".to_owned() } else { "an error".to_owned() }
}

fn mcp(output_schemas: bool) -> Mcp {
    let config = McpConfig { output_schemas, ..McpConfig::new("test", "1") };
    Mcp::new(router().build().unwrap(), config).unwrap()
}

fn router() -> Router {
    let same = |name: &str| Operation::new(name, same).input::<Number>().output::<Number>();
    Router::new()
        .operation(
            same("same")
                .description("Returns its argument.")
                .title("Same")
                .read_only()
                .tool("same"),
        )
        .operation(same("text_only").destructive().render_text(text).tool("text_only"))
        .operation(Operation::new("one", one).output::<i64>().tool("one"))
        .operation(same("hidden").tool("hidden").unlisted())
}

async fn ask(mcp: &Mcp, message: &Value) -> Value {
    let body = expanded(&message.to_string());
    let reply = in_time("a reply", mcp.rpc().handle(body.into(), Extensions::new())).await;
    let mut reply: Value = serde_json::from_slice(&reply.into_json().unwrap()).unwrap();
    reply["result"].take()
}

#[tokio::test]
async fn entries_are_short() {
    let input = json!({
        "type": "object", "properties": { "value": { "type": "integer", "description": "Its value." } },
    });
    let expected = json!([
        {
            "name": "same", "title": "Same", "description": "Returns its argument.", "inputSchema": input,
            "annotations": { "readOnlyHint": true },
        },
        {
            "name": "text_only", "description": "Text only", "inputSchema": input,
            "annotations": { "readOnlyHint": false, "destructiveHint": true },
        },
        {
            "name": "one", "description": "One",
            "inputSchema": { "type": "object", "properties": {} },
        },
    ]);
    let mcp = mcp(false);
    for list in [legacy("tools/list", json!({})), modern("tools/list", json!({}))] {
        assert_eq!(ask(&mcp, &list).await["tools"], expected);
    }
    assert_eq!(mcp.tools(), ["same", "text_only", "one"]);
}

#[tokio::test]
async fn output_schemas_are_listed_if_enabled() {
    let mcp = mcp(true);
    let has_schema = |listed: &Value| -> Vec<bool> {
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool.get("outputSchema").is_some()).collect()
    };
    let listed = ask(&mcp, &legacy("tools/list", json!({}))).await;
    // A result that is not an object has no schema in the first era.
    assert_eq!(has_schema(&listed), [true, true, false]);
    let listed = ask(&mcp, &modern("tools/list", json!({}))).await;
    assert_eq!(has_schema(&listed), [true, true, true]);
}

/// The parts of a result: whether it has text, and structured content.
#[track_caller]
fn parts(result: &Value) -> (bool, bool) {
    assert_eq!(result["isError"], false, "{result}");
    let has_text = !result["content"].as_array().unwrap().is_empty();
    (has_text, result.get("structuredContent").is_some())
}

/// The results of the tools `same` (JSON), `text_only` (rendered) and `blocks` for a client.
#[tokio::test]
async fn clients_receive_the_representation_that_they_are_configured_for() {
    let results = |results| ClientResults::new(results);
    let clients: BTreeMap<String, ClientResults> = [
        ("claude-code".to_owned(), results(Results::Text)),
        ("Cursor".to_owned(), results(Results::Structured)),
        ("program".to_owned(), results(Results::Both)),
    ]
    .into();
    let (text, structured, both) = ((true, false), (false, true), (true, true));
    for (default, output_schemas, client, json, rendered) in [
        // The library's defaults.
        (None, false, None, both, text),
        (None, true, None, both, both),
        (None, false, Some("other"), both, text),
        // Those of the program.
        (Some(Results::Text), false, None, text, text),
        (Some(Results::Text), false, Some("other"), text, text),
        (Some(Results::Both), true, None, both, both),
        (Some(Results::Structured), false, None, structured, structured),
        // Clients.
        (Some(Results::Text), false, Some("cursor"), structured, structured),
        (Some(Results::Text), false, Some("CURSOR"), structured, structured),
        (Some(Results::Text), false, Some("program"), both, both),
        (Some(Results::Both), true, Some("claude-code"), text, text),
    ] {
        let config = McpConfig {
            output_schemas,
            results: default,
            client_results: clients.clone(),
            ..McpConfig::new("test", "1")
        };
        let mcp = Mcp::new(router().build().unwrap(), config).unwrap();
        for (tool, expected) in [("same", json), ("text_only", rendered)] {
            let mut call = json!({ "name": tool, "arguments": { "value": 1 } });
            if let Some(client) = client {
                let info = json!({ "name": client, "version": "1" });
                call["_meta"] = json!({ "io.modelcontextprotocol/clientInfo": info });
            }
            let result = ask(&mcp, &modern("tools/call", call)).await;
            assert_eq!(parts(&result), expected, "{default:?} {output_schemas} {client:?} {tool}");
        }
    }
}

/// An error is text, complete in the first block.
#[tokio::test]
async fn errors_are_complete_in_their_first_block() {
    let long = "x".repeat(100_000);
    for (error, expected) in [
        (json!({ "kind": "a", "reason": "why" }), "Failed: why"),
        (
            json!({ "reason": "why", "stderr": "one\ntwo\n", "exit_code": 3 }),
            "Failed: why\nexit_code: 3\nstderr: one\ntwo",
        ),
        // The only line is in the reason already.
        (
            json!({ "reason": "exit code 3: no such file", "stderr": "no such file\n" }),
            "Failed: exit code 3: no such file",
        ),
        (
            json!({ "error": { "code": -1, "data": [1, "b"] } }),
            "Failed\nerror: {\"code\":-1,\"data\":[1,\"b\"]}",
        ),
        (json!("a text"), "Failed: a text"),
        (json!([1, 2]), "Failed: [1,2]"),
        (json!({ "reason": long }), "Failed: xxx"),
    ] {
        let data = error.clone();
        let fail = move || ErrorObject::new(-1, "Failed").with_data(&data);
        let operation = Operation::new("fail", move || Err::<i64, _>(fail())).tool("fail");
        let rpc = Router::new().operation(operation).build().unwrap();
        let mcp = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap();
        let result = ask(&mcp, &modern("tools/call", json!({ "name": "fail" }))).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(expected) && text.len() < 20_000, "{text}");
        assert!(expected.ends_with("xxx") || text == expected, "{text}");
    }
}

/// Results that operations have already in the form of MCP, such as those of other servers.
#[tokio::test]
async fn results_of_other_servers_are_completed_for_hosts_that_show_one_part() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
    let rows = [
        // Errors, for every client.
        (
            None,
            json!({ "content": [text("a"), text("b")], "isError": true }),
            json!([text("a\nb")]),
            Value::Null,
        ),
        (
            None,
            json!({ "content": [], "structuredContent": { "why": "c" }, "isError": true }),
            json!([text("{\"why\":\"c\"}")]),
            json!({ "why": "c" }),
        ),
        (
            None,
            json!({ "content": [image, text("a")], "structuredContent": { "why": 1 }, "isError": true }),
            json!([text("a\n{\"why\":1}"), image]),
            json!({ "why": 1 }),
        ),
        (None, json!({ "content": [text("a")], "isError": true }), json!([text("a")]), Value::Null),
        // Results.
        (
            None,
            json!({ "content": [text("a"), text("b")], "structuredContent": { "c": 1 } }),
            json!([text("a"), text("b")]),
            json!({ "c": 1 }),
        ),
        (
            Some(Results::Text),
            json!({ "content": [text("a")], "structuredContent": { "c": 1 } }),
            json!([text("a")]),
            Value::Null,
        ),
        (
            Some(Results::Text),
            json!({ "content": [], "structuredContent": { "c": 1 } }),
            json!([text("{\"c\":1}")]),
            Value::Null,
        ),
        (
            Some(Results::Structured),
            json!({ "content": [text("a"), image], "structuredContent": { "c": 1 } }),
            json!([image]),
            json!({ "c": 1 }),
        ),
        (
            Some(Results::Structured),
            json!({ "content": [text("a")] }),
            json!([text("a")]),
            Value::Null,
        ),
        (
            Some(Results::Both),
            json!({ "content": [text("a")], "structuredContent": { "c": 1 } }),
            json!([text("a")]),
            json!({ "c": 1 }),
        ),
    ];
    for (results, returned, content, structured) in rows {
        let result = returned.clone();
        let operation = Operation::new("up", move || Json(result.clone())).tool("up").tool_result();
        let clients = results.map(|results| ("c".to_owned(), ClientResults::new(results)));
        let config = McpConfig {
            client_results: clients.into_iter().collect(),
            ..McpConfig::new("test", "1")
        };
        let mcp = Mcp::new(Router::new().operation(operation).build().unwrap(), config).unwrap();
        let meta = json!({ "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" } });
        let call = json!({ "name": "up", "_meta": meta });
        let found = ask(&mcp, &modern("tools/call", call)).await;
        assert_eq!(
            (&found["content"], &found["structuredContent"]),
            (&content, &structured),
            "{results:?} {returned}"
        );
    }
}

#[tokio::test]
async fn an_unlisted_tool_can_be_called() {
    let call = json!({ "name": "hidden", "arguments": { "value": 1 } });
    let result = ask(&mcp(false), &legacy("tools/call", call)).await;
    assert_eq!(result["structuredContent"], json!({ "value": 1 }));
}
