//! Names, descriptions and schemas in lists, and calls by the names in lists.

use std::collections::HashSet;

use serde_json::{Value, json};
use trunkline::{DynamicOperations, Extensions, Json, Operation, RawParams, Router, Rpc};
use trunkline_mcp::{
    Completion, Mcp, McpConfig, McpOperation, Prompt, PromptArgument, Resource, ResourcePage,
    ResourceTemplate,
};

use crate::support::{expanded, in_time, legacy, modern};

const LONG: &str = "servicenow-catalog__get_configuration_item_with_all_relationship";
/// The digits are those of `printf %s NAME | sha256sum`.
const LISTED: &str = "servicenow-catalog__get_configu_be8320e6";

fn tool(name: &str) -> Operation {
    let answer = name.to_owned();
    Operation::new(format!("method.{name}"), move |_: RawParams| answer.clone()).tool(name)
}

fn build(router: Router, max_tool_name: usize) -> Mcp {
    let config = McpConfig { max_tool_name, ..McpConfig::new("test", "1") };
    Mcp::new(router.build().unwrap(), config).unwrap()
}

async fn reply(rpc: &Rpc, message: &Value) -> Value {
    let body = expanded(&message.to_string());
    let reply = in_time("a reply", rpc.handle(body.into(), Extensions::new())).await;
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

async fn ask(mcp: &Mcp, method: &str, params: Value) -> Value {
    reply(&mcp.rpc(), &legacy(method, params)).await
}

async fn names(mcp: &Mcp, method: &str, member: &str) -> Vec<String> {
    let list = ask(mcp, method, json!({})).await;
    let entries = list["result"][member].as_array().unwrap_or_else(|| panic!("{list}")).iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn long_names_are_short_in_lists() {
    let prompt = Operation::new("prompts.long", || "text")
        .prompt(Prompt::new(LONG).argument(PromptArgument::new("a")));
    let completes = Operation::new("values", |_: RawParams| Json(["x"]))
        .completes([Completion::prompt(LONG, "a")]);
    let changing = DynamicOperations::new();
    let other = format!("{}_other", &LONG[..40]);
    let router = [tool(LONG), tool("short"), prompt, completes]
        .into_iter()
        .fold(Router::new(), Router::operation)
        .dynamic("up", &changing);
    let mcp = build(router, 40);
    assert_eq!(names(&mcp, "tools/list", "tools").await, [LISTED, "short"]);
    assert_eq!(names(&mcp, "prompts/list", "prompts").await, [LISTED]);
    assert_eq!(mcp.tools(), [LISTED, "short"]);

    for name in [LONG, LISTED] {
        let called = ask(&mcp, "tools/call", json!({ "name": name })).await;
        assert_eq!(called["result"]["content"][0]["text"], LONG, "{called}");
        let prompt = ask(&mcp, "prompts/get", json!({ "name": name })).await;
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "text", "{prompt}");
        let completion = json!({
            "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": "a", "value": "" },
        });
        let completed = ask(&mcp, "completion/complete", completion).await;
        assert_eq!(completed["result"]["completion"]["values"], json!(["x"]), "{completed}");
    }

    // Names do not change when other tools are added, and differ although their beginnings are the same.
    changing.replace(Router::new().operation(tool(&other)).operation(tool("added"))).unwrap();
    let listed = names(&mcp, "tools/list", "tools").await;
    assert_eq!(listed[..2], [LISTED, "short"]);
    assert_eq!(listed.iter().collect::<HashSet<_>>().len(), 4, "{listed:?}");
    assert!(listed.iter().all(|name| name.len() <= 40), "{listed:?}");
    for name in &listed {
        let called = ask(&mcp, "tools/call", json!({ "name": name })).await;
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text[..5], name[..5], "{called}");
    }
}

#[tokio::test]
async fn a_name_in_lists_belongs_to_one_tool() {
    // Another tool has the name that the first one would have in lists.
    for (is_dynamic, expected) in [(false, vec![LISTED]), (true, vec![LISTED])] {
        let changing = DynamicOperations::new();
        let mcp = if is_dynamic {
            let mcp = build(Router::new().operation(tool(LISTED)).dynamic("up", &changing), 40);
            changing.replace(Router::new().operation(tool(LONG))).unwrap();
            mcp
        } else {
            build(Router::new().operation(tool(LONG)).operation(tool(LISTED)), 40)
        };
        assert_eq!(names(&mcp, "tools/list", "tools").await, expected);
        for name in [LONG, LISTED] {
            let called = ask(&mcp, "tools/call", json!({ "name": name })).await;
            assert_eq!(called["result"]["content"][0]["text"], name, "{called}");
        }
    }
    let long = build(Router::new().operation(tool(LONG)), 64);
    assert_eq!(names(&long, "tools/list", "tools").await, [LONG]);
}

/// The APIs of some models refuse empty texts.
#[tokio::test]
async fn texts_are_not_empty() {
    let listed = |_: &[u8]| {
        ResourcePage::new([Resource::new("a:listed", "listed").description("").title(" ")])
    };
    let argument = PromptArgument::new("a").description("").title("");
    let operations = [
        tool("get_item").description("").title(""),
        tool("titled").description(" ").title("A title"),
        Operation::new("r", || "x").resource(Resource::new("a:b", "n").description("").title("")),
        Operation::new("t", || "x")
            .description("")
            .resource_template(ResourceTemplate::new("a:{b}", "n").title("")),
        Operation::new("p", || "x").prompt(Prompt::new("p").description("").argument(argument)),
        Operation::new("l", || "x").resource_list_by(listed),
    ];
    let mcp = build(operations.into_iter().fold(Router::new(), Router::operation), 40);
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        for message in [legacy(method, json!({})), modern(method, json!({}))] {
            let list = reply(&mcp.rpc(), &message).await["result"].to_string();
            assert!(!list.contains(r#":" "#) && !list.contains(r#":"""#), "{list}");
        }
    }
    let list = ask(&mcp, "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["description"], "Get item");
    assert_eq!(list["result"]["tools"][1]["description"], "A title");
}

/// Arguments are validated against the full schema.
#[tokio::test]
async fn schemas_are_portable_unless_they_are_exact() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": { "a": { "type": ["integer", "string"], "enum": [1, "auto"] } },
    });
    let portable = json!({ "type": "string", "enum": ["auto"], "description": "Also accepts: 1." });
    let echo = |name: &str| tool(name).input_schema(schema.clone());
    let router = Router::new().operation(echo("portable")).operation(echo("exact").exact_schemas());
    let mcp = build(router, 40);
    for message in [legacy("tools/list", json!({})), modern("tools/list", json!({}))] {
        let list = reply(&mcp.rpc(), &message).await["result"]["tools"].take();
        assert_eq!(list[0]["inputSchema"]["properties"]["a"], portable, "{list}");
        assert_eq!(list[1]["inputSchema"], schema, "{list}");
    }
    for tool in ["portable", "exact"] {
        for (value, is_error) in [(json!(1), false), (json!("auto"), false), (json!("b"), true)] {
            let call = json!({ "name": tool, "arguments": { "a": value } });
            let called = ask(&mcp, "tools/call", call).await;
            assert_eq!(called["result"]["isError"], is_error, "{called}");
        }
    }
}
