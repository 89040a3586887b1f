//! The prompts of the suite.

use serde::Deserialize;
use trunkline::{Json, JsonSchema, Operation, Params, Router};
use trunkline_mcp::{Block, Completion, CompletionParams, McpOperation, Prompt, PromptMessage};

use crate::PNG;

pub(crate) fn prompts() -> Router {
    Router::new()
        .operation(
            Operation::new("simple", || "This is a simple prompt for testing.")
                .description("A prompt without arguments.")
                .prompt(Prompt::new("test_simple_prompt")),
        )
        .operation(
            Operation::new("with_arguments", with_arguments)
                .description("A prompt with two arguments.")
                .input::<Two>()
                .prompt(Prompt::new("test_prompt_with_arguments")),
        )
        .operation(
            Operation::new("with_embedded_resource", with_embedded_resource)
                .description("A prompt with a resource.")
                .input::<Embedded>()
                .prompt(Prompt::new("test_prompt_with_embedded_resource")),
        )
        .operation(
            Operation::new("with_image", with_image)
                .description("A prompt with an image.")
                .prompt(Prompt::new("test_prompt_with_image")),
        )
        .operation(
            Operation::new("values", |Params(params): Params<CompletionParams>| {
                params.filter(["paris", "park", "party"])
            })
            .completes(
                ["arg1", "arg2"].map(|name| Completion::prompt("test_prompt_with_arguments", name)),
            ),
        )
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Two {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

fn with_arguments(Params(Two { arg1, arg2 }): Params<Two>) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// The URI of the resource to embed.
    resource_uri: String,
}

fn with_embedded_resource(
    Params(Embedded { resource_uri }): Params<Embedded>,
) -> Json<Vec<PromptMessage>> {
    let text = "Embedded resource content for testing.";
    Json(vec![
        PromptMessage::user(Block::resource(resource_uri, "text/plain", text)),
        PromptMessage::user("Please process the embedded resource above."),
    ])
}

fn with_image() -> Json<Vec<PromptMessage>> {
    Json(vec![
        PromptMessage::user(Block::image(&PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ])
}
