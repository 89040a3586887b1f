//! Operations with EDN params and results as tools, whose clients use JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::edn::{Edn, Inst, Keyword, Value as EdnValue};
use trunkline::{Extensions, JsonSchema, Operation, Router};
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{assert_fits, in_time, legacy};

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[serde(rename_all = "kebab-case")]
struct Job {
    #[schemars(with = "String")]
    queue: Keyword,
    #[schemars(with = "Option<String>")]
    run_at: Option<Inst>,
}

fn router() -> Router {
    let create = Operation::new("job.create", |Edn(job): Edn<Job>| Edn(job));
    let first = Operation::new("first", |Edn(params): Edn<EdnValue>| {
        params.get("of").and_then(EdnValue::as_sequence).and_then(<[_]>::first).cloned()
    });
    Router::new()
        .operation(create.description("A job.").input::<Job>().output::<Job>().tool("create"))
        .operation(first.description("The first.").tool("first"))
}

async fn ask(method: &str, params: Value) -> Value {
    let rpc = Mcp::new(router().build().unwrap(), McpConfig::new("test", "1")).unwrap().rpc();
    let body = legacy(method, params).to_string();
    let reply = in_time("a reply", rpc.handle(body.into(), Extensions::new())).await;
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

#[tokio::test]
async fn a_tool_is_listed_with_its_schemas() {
    let reply = ask("tools/list", json!({})).await;
    let schema = json!({
        "type": "object",
        "properties": { "queue": { "type": "string" }, "run-at": { "type": "string" } },
        "required": ["queue"],
    });
    let tool = json!({ "name": "create", "inputSchema": schema });
    assert_fits("the list", &json!({ "result": { "tools": [tool, { "name": "first" }] } }), &reply);
}

#[tokio::test]
async fn edn_arguments_and_results_are_json() {
    let queue = json!({ "queue": "a/b", "run-at": "2024-01-01T00:00:00Z" });
    let rows = [
        ("create", queue.clone(), json!({ "structuredContent": queue, "isError": false })),
        ("create", json!({ "queue": "a b" }), json!({ "isError": true })),
        ("create", json!({ "queue": 1 }), json!({ "isError": true })),
        (
            "first",
            json!({ "of": [{ "a": 1 }] }),
            json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "isError": false }),
        ),
    ];
    for (tool, arguments, expected) in rows {
        let name = format!("{tool} {arguments}");
        let reply = ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_fits(&name, &json!({ "result": expected }), &reply);
    }
}
