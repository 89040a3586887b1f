//! The tools of the suite.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Json, JsonSchema, Operation, Params, RawParams, Router};
use trunkline_mcp::{
    Block, ClientCapabilities, Log, LogLevel, McpOperation, MissingCapability, Progress,
};

use crate::{PNG, requests};

pub(crate) fn tools() -> Router {
    Router::new()
        .operation(
            tool("test_simple_text", "Returns text.", || {
                Block::text("This is a simple text response for testing.")
            })
            .blocks(),
        )
        .operation(
            tool("test_image_content", "Returns an image.", || Block::image(&PNG, "image/png"))
                .blocks(),
        )
        .operation(
            tool("test_audio_content", "Returns audio.", || Block::audio(&WAV, "audio/wav"))
                .blocks(),
        )
        .operation(
            tool("test_embedded_resource", "Returns a resource.", || {
                let text = "This is an embedded resource content.";
                Block::resource("test://embedded-resource", "text/plain", text)
            })
            .blocks(),
        )
        .operation(tool("test_multiple_content_types", "Returns three blocks.", mixed).blocks())
        .operation(tool("test_error_handling", "Fails.", || {
            let text = "This tool intentionally returns an error for testing";
            Err::<Value, _>(ErrorObject::new(1, text))
        }))
        .operation(tool("test_tool_with_progress", "Reports progress.", advancing).blocks())
        .operation(tool("test_tool_with_logging", "Logs what it does.", logging).blocks())
        .operation(tool("test_missing_capability", "Needs sampling.", needs_sampling))
        .operation(tool("test_streaming_elicitation", "Asks for a name.", requests::greeting))
        .operation(tool("test_logging_tool", "Returns text.", || Block::text("done")).blocks())
        .operation(
            tool("test_mirrored_param", "Echoes a param that is mirrored in a header.", mirrored)
                .input::<Mirrored>(),
        )
        .operation(
            tool(
                "json_schema_2020_12_tool",
                "Has a schema with many keywords.",
                |params: RawParams| Json(params.0),
            )
            .input_schema(rich_schema())
            .exact_schemas(),
        )
}

pub(crate) fn tool<H, M>(name: &str, text: &str, handler: H) -> Operation
where
    H: trunkline::protocol::Handler<M, ()>,
    M: 'static,
{
    Operation::new(name, handler).description(text).tool(name).read_only()
}

fn mixed() -> Json<Vec<Block>> {
    let data = r#"{"test":"data","value":123}"#;
    Json(vec![
        Block::text("Multiple content types test:"),
        Block::image(&PNG, "image/png"),
        Block::resource("test://mixed-content-resource", "application/json", data),
    ])
}

/// The pause between two notifications, which shows that they are sent separately.
const PAUSE: Duration = Duration::from_millis(50);

async fn advancing(progress: Progress) -> Block {
    for done in [0.0, 50.0, 100.0] {
        progress.report(done, Some(100.0), None);
        tokio::time::sleep(PAUSE).await;
    }
    Block::text("done")
}

async fn logging(log: Log) -> Block {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log.send(LogLevel::Info, text);
        tokio::time::sleep(PAUSE).await;
    }
    Block::text("done")
}

fn needs_sampling(client: ClientCapabilities) -> Result<&'static str, MissingCapability> {
    client.require("sampling")?;
    Ok("The client can sample.")
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Mirrored {
    /// Mirrored in the header Mcp-Param-Region.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

fn mirrored(Params(Mirrored { region }): Params<Mirrored>) -> String {
    region
}

/// A schema that lists must contain unchanged.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// A WAV header without samples.
const WAV: [u8; 44] = [
    0x52, 0x49, 0x46, 0x46, 0x24, 0, 0, 0, 0x57, 0x41, 0x56, 0x45, 0x66, 0x6d, 0x74, 0x20, 0x10, 0,
    0, 0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 0x10, 0, 0x64, 0x61, 0x74, 0x61, 0,
    0, 0, 0,
];
