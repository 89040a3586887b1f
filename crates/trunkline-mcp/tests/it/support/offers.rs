//! Resources, prompts and completions.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::yield_now;
use trunkline::{ErrorObject, Json, JsonSchema, Operation, Params, RawParams, Router};
use trunkline_mcp::{
    Block, Completion, CompletionParams, Contents, McpOperation, Progress, Prompt, PromptArgument,
    PromptMessage, PromptResult, Resource, ResourceContents, ResourceTemplate, ResourceUri,
};

pub(crate) fn offers() -> Router {
    let operations = resources().into_iter().chain(prompts());
    operations.fold(Router::new(), Router::operation)
}

fn resources() -> Vec<Operation> {
    let resource = |name: &str| Resource::new(format!("r://{name}"), name);
    vec![
        Operation::new("r.text", || "some \"text\"").description("Text.").resource(
            resource("text").mime_type("text/markdown").title("A text").ttl(MINUTE).public(),
        ),
        Operation::new("r.json", || json!({ "a": [1] })).resource(resource("json")),
        Operation::new("r.binary", || Contents::binary(b"\x00\xff"))
            .resource(resource("binary").mime_type("image/png")),
        Operation::new("r.several", several).resource(resource("several")),
        Operation::new("r.async", async || Ok::<_, ErrorObject>(Contents::text("later")))
            .resource(resource("async")),
        Operation::new("r.none", || Value::Null).resource(resource("none")),
        Operation::new("r.fails", || Err::<Value, _>(ErrorObject::new(7, "it broke")))
            .resource(resource("fails")),
        Operation::new("r.leaks", || Err::<Value, _>(ErrorObject::internal(&"the secret")))
            .resource(resource("leaks")),
        Operation::new("r.page", |Params(page): Params<Page>| page.name)
            .description("A page.")
            .resource_template(ResourceTemplate::new("r://pages/{name}", "page")),
        Operation::new("r.item", |Params(item): Params<Item>| json!([item.id, item.part]))
            .input::<Item>()
            .resource_template(ResourceTemplate::new("r://items/{id}{?part}", "item")),
        Operation::new("r.file", |Params(page): Params<Page>, uri: ResourceUri| {
            format!("{} at {}", page.name, uri.0)
        })
        .resource_template(ResourceTemplate::new("r://files/{+name}", "file").mime_type("x/y")),
        Operation::new("r.steps", steps).resource(resource("steps")),
        Operation::new("r.listed", || Json([Resource::new("r://pages/listed", "listed")]))
            .resource_list(),
    ]
}

async fn steps(progress: Progress) -> &'static str {
    progress.report(1.0, None, None);
    yield_now().await;
    "done"
}

const MINUTE: Duration = Duration::from_secs(60);

fn several() -> Contents {
    let items = [
        ResourceContents::text("one").uri("r://several/1").meta("x.y/z", 1),
        ResourceContents::binary(b"two").mime_type("image/png"),
    ];
    Contents::from_iter(items).meta("x.y/all", true)
}

#[derive(Deserialize)]
struct Page {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Item {
    id: u32,
    part: Option<String>,
}

fn prompts() -> Vec<Operation> {
    vec![
        Operation::new("p.text", || "Say \"hello\".")
            .description("A greeting.")
            .prompt(Prompt::new("text")),
        Operation::new("p.messages", messages).prompt(Prompt::new("messages")),
        Operation::new("p.whole", whole).prompt(Prompt::new("whole").description("The default.")),
        Operation::new("p.one", async || Ok::<_, ErrorObject>(PromptMessage::assistant("I know.")))
            .prompt(Prompt::new("one")),
        Operation::new("p.declared", |Params(params): Params<Value>| params.to_string()).prompt(
            Prompt::new("declared")
                .argument(PromptArgument::new("must").description("Required.").required())
                .argument(PromptArgument::new("may").title("Optional")),
        ),
        Operation::new("p.typed", |Params(typed): Params<Typed>| format!("{}", typed.count + 1))
            .input::<Typed>()
            .prompt(Prompt::new("typed")),
        Operation::new("p.steps", steps).prompt(Prompt::new("steps")),
        Operation::new("p.wrong", || 7).prompt(Prompt::new("wrong")),
        Operation::new("p.fails", || Err::<Value, _>(ErrorObject::new(7, "it broke")))
            .prompt(Prompt::new("fails")),
        Operation::new("c.names", |Params(params): Params<CompletionParams>| {
            params.filter(["Anna", "Bob", "Hannah"])
        })
        .completes([
            Completion::prompt("declared", "must"),
            Completion::template("r://pages/{name}", "name"),
        ]),
        Operation::new("c.many", |Params(params): Params<CompletionParams>| {
            params.filter((0..150).map(|n| n.to_string()))
        })
        .completes([Completion::template("r://items/{id}{?part}", "id")]),
        Operation::new("c.context", |Params(params): Params<CompletionParams>| {
            Json(params.context.into_values().collect::<Vec<_>>())
        })
        .completes([Completion::prompt("declared", "may")]),
        Operation::new("c.wrong", |_: RawParams| 7)
            .completes([Completion::prompt("typed", "count")]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Typed {
    /// A number.
    count: i64,
    #[serde(rename = "loud")]
    #[schemars(title = "Loud")]
    _loud: Option<bool>,
}

fn messages() -> Json<Vec<PromptMessage>> {
    let link = Resource::new("r://text", "text").mime_type("text/plain");
    Json(vec![
        PromptMessage::user(Block::image(b"one", "image/png")),
        PromptMessage::user(Block::link(link)),
        PromptMessage::user(Block::from(ResourceContents::binary(b"three").uri("r://three"))),
    ])
}

fn whole() -> Json<PromptResult> {
    Json(PromptResult::new([PromptMessage::user("a")]).description("Its own."))
}
