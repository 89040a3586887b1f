//! The operations of the tools, and those that manage the folder.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::layers::ValidateLayer;
use trunkline::layers::authorize::{SharedRules, is_visible_to};
use trunkline::protocol::RegisteredOperation;
use trunkline::{
    Call, Effect, ErrorDescription, ErrorObject, Extensions, FromCall, Json, Operation, RawParams,
    Router, Rpc, RpcError, State, code,
};

use crate::folder::{FolderError, ReloadReport, ToolFolder};
use crate::manifest::ToolManifest;
use crate::run::{RunError, Tool};

pub(crate) const LIST_TOOLS: &str = "agent.list_tools";
pub(crate) const RELOAD_TOOLS: &str = "agent.reload_tools";

/// The name of the permission to reload the folder, and to see its rejected files, in patterns of rules and roles.
pub const RELOAD_PERMISSION: &str = "tools.reload";

/// The operations of the current tools of a folder. Each has the name of its tool. Arguments are validated against the
/// input schema before the tool runs.
///
/// The errors are -32602 with `data.errors` for invalid arguments, -32002 for a tool that fails, -32004
/// for a timeout, and -32005 if too many tools are running; `data.kind` and `data.reason` have the details, see
/// [`RunError`].
pub fn operations(folder: &ToolFolder) -> Router {
    let catalog = folder.catalog();
    let operations = catalog.tools().map(|tool| operation(folder, tool));
    operations.fold(Router::new(), Router::operation).layer(ValidateLayer::new())
}

fn operation(folder: &ToolFolder, tool: &Arc<Tool>) -> Operation {
    let manifest = Arc::clone(&tool.manifest);
    let timeout = folder.call_timeout(tool);
    let (folder, tool) = (folder.clone(), Arc::clone(tool));
    let run = move |RawParams(arguments): RawParams| {
        let (folder, tool) = (folder.clone(), Arc::clone(&tool));
        async move { run(&folder, &tool, arguments).await }
    };
    let mut operation = Operation::new(&*manifest.name, run)
        .description(&*manifest.description)
        .input_schema(manifest.input.clone())
        .errors::<RunError>()
        .timeout(timeout)
        .tool(&*manifest.name)
        .revision(revision(&manifest));
    if let Some(title) = &manifest.title {
        operation = operation.title(&**title);
    }
    if let Some(output) = &manifest.output {
        operation = operation.output_schema(output.clone());
    }
    match manifest.effect {
        Some(Effect::ReadOnly) => operation.read_only(),
        Some(Effect::Additive) => operation.additive(),
        Some(Effect::Destructive) => operation.destructive(),
        None => operation,
    }
}

/// The command and its environment. A change of them is a change of the operation.
fn revision(manifest: &ToolManifest) -> String {
    let (program, folder) = (manifest.program.to_string_lossy(), manifest.folder.to_string_lossy());
    json!([program, manifest.arguments, folder, manifest.env]).to_string()
}

async fn run(
    folder: &ToolFolder,
    tool: &Arc<Tool>,
    arguments: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RunError> {
    // Positional params are empty here, since the operations declare no names.
    let arguments = arguments.filter(|arguments| arguments.get().starts_with('{'));
    folder.run(tool, arguments.as_deref()).await
}

/// A folder, the service of its tools, and the rules for the callers of both.
#[derive(Clone)]
struct Managed {
    folder: ToolFolder,
    rpc: Rpc,
    rules: SharedRules,
}

/// The operations that manage a folder: `agent.list_tools` lists its tools and rejected files,
/// `agent.reload_tools` reads the folder again and lists the changes. They are not tools: merge them into the router
/// of the agent, not into that of the tools.
///
/// `rpc` is the service of the tools, and `rules` are its rules and those of these operations. A reload requires the
/// [permission](SharedRules::check_permission) [`RELOAD_PERMISSION`]. Callers without it get the tools in the lists of
/// `rpc` for them, and neither rejected files nor the failure of the last read.
///
/// The error is -32000 if the folder cannot be read; the previous tools stay.
pub fn management<S>(folder: &ToolFolder, rpc: &Rpc, rules: &SharedRules) -> Router<S> {
    let managed = Managed { folder: folder.clone(), rpc: rpc.clone(), rules: rules.clone() };
    let list = Operation::new(LIST_TOOLS, list)
        .title("List tools")
        .description("Lists the tools of the folder, and the rejected manifests with the reasons.")
        .output_schema(listing_schema())
        .read_only()
        .closed_world();
    let reload = Operation::new(RELOAD_TOOLS, reload)
        .title("Reload tools")
        .description("Reloads the folder of tools, and lists the added, changed and removed tools.")
        .output_schema(listing_schema())
        .errors::<FolderError>()
        .additive()
        .idempotent()
        .closed_world();
    Router::new().operation(list).operation(reload).with_state(managed)
}

fn list(State(managed): State<Managed>, Sender(sender): Sender) -> Json<ReloadReport> {
    let listing = managed.folder.listing();
    Json(match managed.check(&sender) {
        Ok(()) => listing,
        Err(_) => managed.visible(listing.tools, &sender),
    })
}

async fn reload(
    State(managed): State<Managed>,
    Sender(sender): Sender,
) -> Result<ReloadReport, ErrorObject> {
    managed.check(&sender)?;
    managed.folder.refresh().await.map_err(RpcError::into_error_object)
}

impl Managed {
    fn check(&self, sender: &Extensions) -> Result<(), ErrorObject> {
        self.rules.check_permission(RELOAD_PERMISSION, sender)
    }

    /// The tools that lists for the sender contain.
    fn visible(&self, mut tools: Vec<Arc<ToolManifest>>, sender: &Extensions) -> ReloadReport {
        let (operations, principal) = (self.rpc.operations(), Principal::of(sender));
        tools.retain(|tool| {
            let is_of_tool = |one: &&Arc<RegisteredOperation>| {
                one.description().tool.as_ref() == Some(&tool.name)
            };
            let operation = operations.iter().find(is_of_tool);
            operation.is_some_and(|one| is_visible_to(one.description(), principal))
        });
        ReloadReport::of_tools(tools)
    }
}

/// The extensions of a call.
struct Sender(Extensions);

impl<S> FromCall<S> for Sender {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(call.extensions().clone()))
    }
}

fn listing_schema() -> Value {
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

const READ_FAILED: &str = "The tools could not be read";

impl RpcError for FolderError {
    fn into_error_object(self) -> ErrorObject {
        tracing::warn!(
            error = &self as &dyn std::error::Error,
            "failed to read the tools; keeping the previous ones"
        );
        let reason = format!("{}; keeping the previous tools", self.source);
        ErrorObject::new(code::APPLICATION, READ_FAILED).with_data(&json!({ "reason": reason }))
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        vec![ErrorDescription::new(code::APPLICATION, READ_FAILED)]
    }
}
