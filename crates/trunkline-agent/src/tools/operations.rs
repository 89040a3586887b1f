//! Tools as operations of a router.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use trunkline::layers::ValidateLayer;
use trunkline::{Effect, Operation, RawParams, Router};

use super::folder::ToolFolder;
use super::manifest::ToolManifest;
use super::run::{RunError, Tool};

/// The operations of the tools that a folder holds now: one of each, under its name, which is also that by
/// which language models call it. Arguments are checked against the input schema before anything runs.
///
/// Errors are -32602 with `data.errors` for arguments that do not fit, -32002 for a tool that fails, -32004
/// for one whose time is over, and -32005 if too many run; `data.kind` and `data.reason` tell more, see
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
        Some(Effect::Reads) => operation.read_only(),
        Some(Effect::Adds) => operation.additive(),
        Some(Effect::Destroys) => operation.destructive(),
        None => operation,
    }
}

/// What runs, and in which surroundings: what its description does not tell.
fn revision(manifest: &ToolManifest) -> String {
    let (program, folder) = (manifest.program.to_string_lossy(), manifest.folder.to_string_lossy());
    json!([program, manifest.arguments, folder, manifest.env]).to_string()
}

async fn run(
    folder: &ToolFolder,
    tool: &Arc<Tool>,
    arguments: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RunError> {
    // Params by position are none here, or were refused: no operation declares names.
    let arguments = arguments.filter(|arguments| arguments.get().starts_with('{'));
    folder.run(tool, arguments.as_deref()).await
}
