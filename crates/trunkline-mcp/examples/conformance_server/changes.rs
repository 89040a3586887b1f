//! Tools that change the lists of the server.

use std::sync::{Arc, Mutex, PoisonError};

use trunkline::tool::ToolOperation;
use trunkline::{BoxError, DynamicOperations, Operation, Router};
use trunkline_mcp::{Block, McpOperation, Prompt};

use crate::tools::tool;

/// Whether the tool and the prompt that are added and removed are present.
#[derive(Default)]
struct Present {
    tool: bool,
    prompt: bool,
}

/// Tools that add one tool or prompt, or remove it.
pub(crate) fn tools(dynamic: &DynamicOperations) -> Router {
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
    Router::new()
        .operation(tool("test_trigger_tool_change", "Changes the tools.", tools).blocks())
        .operation(tool("test_trigger_prompt_change", "Changes the prompts.", prompts).blocks())
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
    router
}
