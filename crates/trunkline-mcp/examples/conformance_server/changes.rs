//! Tools that change the lists and a resource of the server.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trunkline::tool::ToolOperation;
use trunkline::{BoxError, DynamicOperations, Operation, Router};
use trunkline_mcp::{Block, Mcp, McpOperation, Prompt, Resource};

use crate::tools::tool;

/// The server, which is created after its tools.
pub(crate) type Served = Arc<OnceLock<Mcp>>;

/// Whether the tool, the prompt and the resource that are added and removed are present.
#[derive(Default)]
struct Present {
    tool: bool,
    prompt: bool,
    resource: bool,
}

/// Tools that add one tool, prompt or resource, or remove it, and one that updates a resource.
pub(crate) fn tools(dynamic: &DynamicOperations, served: &Served) -> Router {
    let present = Arc::new(Mutex::new(Present::default()));
    let changing = |change: fn(&mut Present)| {
        let (dynamic, present) = (dynamic.clone(), Arc::clone(&present));
        move || {
            let mut present = present.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut present);
            dynamic.replace(operations(&present))?;
            Ok::<_, BoxError>(Block::text("changed"))
        }
    };
    let tools = changing(|present| present.tool = !present.tool);
    let prompts = changing(|present| present.prompt = !present.prompt);
    let resources = changing(|present| present.resource = !present.resource);
    let served = Arc::clone(served);
    let update = move || {
        let mcp = served.get().ok_or("the server has not started")?;
        mcp.resource_updated("test://watched-resource");
        Ok::<_, BoxError>(Block::text("updated"))
    };
    Router::new()
        .operation(tool("test_trigger_tool_change", "Changes the tools.", tools).blocks())
        .operation(tool("test_trigger_prompt_change", "Changes the prompts.", prompts).blocks())
        .operation(
            tool("test_trigger_resource_change", "Changes the resources.", resources).blocks(),
        )
        .operation(
            tool("test_trigger_resource_update", "Updates the watched resource.", update).blocks(),
        )
}

fn operations(present: &Present) -> Router {
    let mut router = Router::new();
    if present.tool {
        let added = tool("test_added_tool", "Is added and removed.", || Block::text("here"));
        router = router.operation(added.blocks());
    }
    if present.prompt {
        let added = Operation::new("prompt", || "here").description("Is added and removed.");
        router = router.operation(added.prompt(Prompt::new("test_added_prompt")));
    }
    if present.resource {
        let added = Operation::new("resource", || "here").description("Is added and removed.");
        router = router.operation(added.resource(Resource::new("test://added", "added")));
    }
    router
}
