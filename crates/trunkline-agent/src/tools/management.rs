//! The operations of who looks after a folder of tools.

use serde_json::{Value, json};
use trunkline::{ErrorDescription, ErrorObject, Json, Operation, Router, RpcError, State, code};

use super::folder::{FolderError, Reloaded, ToolFolder};

pub(crate) const LIST_TOOLS: &str = "agent.list_tools";
pub(crate) const RELOAD_TOOLS: &str = "agent.reload_tools";

/// The operations of who looks after a folder: `agent.list_tools` tells what it holds, and
/// `agent.reload_tools` reads it first, and tells what is new by that. They belong beside those of an
/// [agent](crate::operations): none of them is a tool.
///
/// The one error is -32000, for a folder that cannot be read; the tools are those of before.
pub fn management<S>(folder: &ToolFolder) -> Router<S> {
    let list = Operation::new(LIST_TOOLS, list)
        .title("List tools")
        .description("Lists the tools of the folder, and what is rejected there, with the reasons.")
        .output_schema(listing())
        .read_only()
        .closed_world();
    let reload = Operation::new(RELOAD_TOOLS, reload)
        .title("Reload tools")
        .description("Reads the folder of tools, and tells which were added, changed and removed.")
        .output_schema(listing())
        .errors::<FolderError>()
        .additive()
        .idempotent()
        .closed_world();
    Router::new().operation(list).operation(reload).with_state(folder.clone())
}

fn list(State(folder): State<ToolFolder>) -> Json<Reloaded> {
    Json(folder.listing())
}

async fn reload(State(folder): State<ToolFolder>) -> Result<Reloaded, FolderError> {
    folder.refresh().await
}

fn listing() -> Value {
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let tool = json!({
        "type": "object",
        "required": ["name", "description", "inputSchema"],
        "properties": {
            "name": { "type": "string" },
            "title": { "type": "string" },
            "description": { "type": "string" },
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": ["object", "boolean"] },
        },
    });
    let rejected = json!({
        "type": "object",
        "required": ["file", "reason"],
        "properties": { "file": { "type": "string" }, "reason": { "type": "string" } },
    });
    json!({
        "type": "object",
        "required": ["added", "changed", "removed", "tools", "rejected"],
        "properties": {
            "added": names,
            "changed": names,
            "removed": names,
            "tools": { "type": "array", "items": tool },
            "rejected": { "type": "array", "items": rejected },
            "failure": { "type": "string" },
        },
    })
}

const UNREADABLE: &str = "The tools could not be read";

impl RpcError for FolderError {
    fn into_error_object(self) -> ErrorObject {
        tracing::warn!(error = &self as &dyn std::error::Error, "the tools stay as they are");
        let reason = format!("{}; the tools are those of before", self.source);
        ErrorObject::new(code::APPLICATION, UNREADABLE).with_data(&json!({ "reason": reason }))
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        vec![ErrorDescription::new(code::APPLICATION, UNREADABLE)]
    }
}
