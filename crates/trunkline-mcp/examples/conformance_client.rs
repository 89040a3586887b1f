//! The client that the protocol's official conformance suite runs for each of its client scenarios.
//!
//! ```console
//! $ conformance client --command target/debug/examples/conformance_client --requirements 2026-07-28
//! ```

#![expect(clippy::print_stderr, reason = "the suite shows it")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use trunkline::client::Http;
use trunkline_mcp::client::{
    Client, ClientHandler, Elicitation, Elicited, HandlerError, HandlerFeatures, List,
    McpClientConfig, Tool,
};

/// The value that a scenario passes in `MCP_CONFORMANCE_CONTEXT`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Context {
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Box<RawValue>,
}

/// Accepts every form with its defaults.
struct Handler;

impl ClientHandler for Handler {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.forms = true;
        features
    }

    fn elicit(&self, elicitation: Elicitation) -> BoxFuture<'_, Result<Elicited, HandlerError>> {
        let elicited = match elicitation {
            Elicitation::Form { schema, .. } => Elicited::Accept(confirmed(&schema)),
            _ => Elicited::Decline,
        };
        Box::pin(std::future::ready(Ok(elicited)))
    }
}

/// `true` for members without a default that are Booleans.
fn confirmed(schema: &RawValue) -> Map<String, Value> {
    let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let is_confirmation =
        |property: &Value| property["type"] == "boolean" && property["default"].is_null();
    let confirmed = properties.into_iter().filter(|(_, property)| is_confirmation(property));
    confirmed.map(|(name, _)| (name, Value::Bool(true))).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().filter(|url| url.starts_with("http"));
    let url = url.ok_or("usage: conformance_client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Context =
        if context.is_empty() { Context::default() } else { serde_json::from_str(&context)? };
    let mut config = McpClientConfig::new("conformance-client", env!("CARGO_PKG_VERSION"));
    if matches!(&*scenario, "elicitation-sep1034-client-defaults" | "sep-2322-client-request-state")
    {
        config.handler = Arc::new(Handler);
    }
    let client = Client::connect(Http::connect(&url)?, config).await?;
    let done = run(&client, &scenario, &context).await;
    client.close().await;
    done
}

async fn run(client: &Client, scenario: &str, context: &Context) -> Result<(), Box<dyn Error>> {
    let List { items: tools, rejected, .. } = client.list_tools().await?;
    for (name, reason) in rejected {
        eprintln!("rejected {name}: {reason}");
    }
    let empty = to_raw_value(&json!({}))?;
    match scenario {
        // Their servers only have a list.
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
        "http-custom-headers" => {
            for Call { name, arguments } in &context.tool_calls {
                client.call_tool(tool(&tools, name)?, arguments).await?;
            }
        }
        "http-standard-headers" => {
            client.call_tool(tools.first().ok_or("no tool")?, &empty).await?;
            let resources = client.list_resources().await?.items;
            client.read_resource(&resources.first().ok_or("no resource")?.uri).await?;
            let prompts = client.list_prompts().await?.items;
            let prompt = &prompts.first().ok_or("no prompt")?.name;
            client.get_prompt(prompt, &BTreeMap::new()).await?;
        }
        "json-schema-2020-12-preservation" => {
            let schema = &tool(&tools, "json_schema_2020_12_tool")?.input_schema;
            let arguments = to_raw_value(&BTreeMap::from([("schema", schema)]))?;
            client.call_tool(tool(&tools, "json_schema_echo")?, &arguments).await?;
        }
        // At the same time, so that the rounds of one call could affect another.
        "sep-2322-client-request-state" => {
            try_join_all(tools.iter().map(|tool| client.call_tool(tool, &empty))).await?;
        }
        _ => {
            let numbers = to_raw_value(&json!({ "a": 5, "b": 3 }))?;
            for tool in &tools {
                let takes_numbers = tool.input_schema.get().contains("\"a\"");
                client.call_tool(tool, if takes_numbers { &numbers } else { &empty }).await?;
            }
        }
    }
    Ok(())
}

fn tool<'t>(tools: &'t [Tool], name: &str) -> Result<&'t Tool, String> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| format!("no tool {name}"))
}
