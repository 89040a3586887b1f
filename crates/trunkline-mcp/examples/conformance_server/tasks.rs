//! Tools whose calls become tasks.

use std::time::Duration;

use serde::Deserialize;
use tokio::join;
use tokio::time::sleep;
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, JsonSchema, Operation, Params, Router};
use trunkline_mcp::{
    Block, ClientCapabilities, McpOperation, MissingCapability, Peer, PeerError, TaskSupport,
};

use crate::tools::tool;

pub(crate) fn tools() -> Router {
    let optional = |tool: Operation| tool.task(TaskSupport::Optional).blocks();
    Router::new()
        .operation(tool("greet", "Greets at once.", greet).input::<Greet>().blocks())
        .operation(optional(tool("slow_compute", "Takes its time.", compute).input::<Compute>()))
        .operation(tool("failing_job", "Fails.", fail).task(TaskSupport::Required).blocks())
        .operation(optional(tool("protocol_error_job", "Fails with an error.", protocol_error)))
        .operation(optional(
            tool("confirm_delete", "Asks for confirmation.", confirm_delete).input::<Delete>(),
        ))
        .operation(optional(tool("multi_input", "Asks twice at once.", multi_input)))
        .operation(
            tool("test_tool_with_task", "Asks before it becomes a task.", ask_first)
                .task(TaskSupport::Required)
                .blocks(),
        )
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Greet {
    name: String,
}

fn greet(Params(Greet { name }): Params<Greet>) -> Block {
    Block::text(format!("Hello, {name}!"))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Compute {
    /// The duration.
    seconds: u32,
    #[serde(default)]
    label: String,
}

async fn compute(Params(Compute { seconds, label }): Params<Compute>) -> Block {
    sleep(Duration::from_secs(seconds.into())).await;
    Block::text(format!("computed {label} in {seconds} s"))
}

async fn fail() -> Result<Block, ErrorObject> {
    sleep(Duration::from_secs(1)).await;
    Err(ErrorObject::new(1, "the job failed"))
}

/// The suite declares no roots.
async fn protocol_error(
    client: Peer,
    capabilities: ClientCapabilities,
) -> Result<Block, MissingCapability> {
    client.start_task();
    sleep(Duration::from_millis(100)).await;
    capabilities.require("roots")?;
    Ok(Block::text("done"))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Delete {
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Confirm {
    confirm: bool,
}

async fn confirm_delete(
    client: Peer,
    Params(Delete { filename }): Params<Delete>,
) -> Result<Block, PeerError> {
    client.start_task();
    let answer = client.elicit::<Confirm>("confirm", &format!("Delete {filename}?")).await?;
    let is_confirmed = answer.accepted().is_some_and(|answer| answer.confirm);
    Ok(Block::text(if is_confirmed { "deleted" } else { "nothing was deleted" }))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Name {
    name: String,
}

async fn multi_input(client: Peer) -> Result<Block, PeerError> {
    client.start_task();
    let (name, confirm) = join!(
        client.elicit::<Name>("name", "What is your name?"),
        client.elicit::<Confirm>("confirm", "Continue?"),
    );
    let name = name?.accepted().map_or("nobody".to_owned(), |answer| answer.name);
    let is_confirmed = confirm?.accepted().is_some_and(|answer| answer.confirm);
    Ok(Block::text(format!("{name}: {is_confirmed}")))
}

async fn ask_first(client: Peer) -> Result<Block, PeerError> {
    let name = client.elicit::<Name>("user_name", "What is your name?").await?;
    client.start_task();
    sleep(Duration::from_millis(100)).await;
    let name = name.accepted().map_or("nobody".to_owned(), |answer| answer.name);
    Ok(Block::text(format!("Hello, {name}!")))
}
