//! The entries of `tools/list`, and the results that depend on them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Extensions, Json, JsonSchema, Operation, Params, Router};
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
    let same = |name: &str| Operation::new(name, same).input::<Number>().output::<Number>();
    let router = Router::new()
        .operation(
            same("same")
                .description("Returns its argument.")
                .title("Same")
                .read_only()
                .tool("same"),
        )
        .operation(same("text_only").destructive().render_text_only(text).tool("text_only"))
        .operation(Operation::new("one", one).output::<i64>().tool("one"))
        .operation(same("hidden").tool("hidden").unlisted());
    Mcp::new(router.build().unwrap(), McpConfig { output_schemas, ..McpConfig::new("test", "1") })
        .unwrap()
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
            "name": "text_only", "description": "", "inputSchema": input,
            "annotations": { "readOnlyHint": false, "destructiveHint": true },
        },
        { "name": "one", "description": "", "inputSchema": { "type": "object" } },
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

#[tokio::test]
async fn a_result_is_text_only_unless_its_schema_is_listed() {
    for (output_schemas, tool, expected) in [
        (false, "same", json!({ "value": 1 })),
        (false, "text_only", Value::Null),
        (true, "text_only", json!({ "value": 1 })),
    ] {
        let call = json!({ "name": tool, "arguments": { "value": 1 } });
        let result = ask(&mcp(output_schemas), &legacy("tools/call", call)).await;
        assert_eq!(result["structuredContent"], expected, "{tool} {output_schemas}");
    }
}

#[tokio::test]
async fn an_unlisted_tool_can_be_called() {
    let call = json!({ "name": "hidden", "arguments": { "value": 1 } });
    let result = ask(&mcp(false), &legacy("tools/call", call)).await;
    assert_eq!(result["structuredContent"], json!({ "value": 1 }));
}
