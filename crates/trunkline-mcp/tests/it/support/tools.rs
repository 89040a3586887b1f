//! The operations that the tests call, most of them as tools.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::yield_now;
use trunkline::protocol::Handler;
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Json, JsonSchema, Operation, Params, RawParams, Router};
use trunkline_mcp::{
    Block, ClientCapabilities, CreateMessageRequest, ElicitResult, Log, LogLevel,
    MissingCapability, Peer, PeerError, Progress,
};

use super::{Gate, TIMEOUT};

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Sum {
    sum: i64,
}

/// All tools, and an operation that is not a tool.
pub(crate) fn router(gate: &Gate) -> Router {
    let add = |Params(Add { a, b }): Params<Add>| a + b;
    let sum = |Params(Add { a, b }): Params<Add>| Json(Sum { sum: a + b });
    let operations = [
        tool("add", add).input::<Add>().output::<i64>().read_only(),
        tool("sum", sum).input::<Add>().output::<Sum>().title("A sum"),
        tool("echo", |params: RawParams| Json(params.0)),
        tool("fail", || Err::<Value, _>(ErrorObject::new(7, "it broke"))),
        tool("fail_why", fail_why),
        tool("crash", || -> Value { panic!("the secret") }),
        tool("leak", || Err::<Value, _>(ErrorObject::internal(&"the secret"))),
        tool("nothing", || ()),
        tool("newlines", newlines),
        tool("blocks", blocks).blocks(),
        tool("words", sum).input::<Add>().render_text(words),
        tool("picky", || "taken").input_schema(picky()),
        tool("mirrored", |params: RawParams| Json(params.0)).input_schema(mirrored()),
        tool("sampling", sampling),
        tool("greet", greet),
        tool("ask_twice", ask_twice),
        tool("ask_model", ask_model),
        tool("ask_forever", ask_forever),
        tool("ask_until", ask_until),
        tool("ask_same", ask_same),
        tool("steps", steps),
        tool("steps_at_once", steps_at_once),
        tool("last_step", last_step),
        tool("lost_words", sum).input::<Add>().render_text(lost_words),
        tool("logs", logs),
        // The reader may be slow.
        tool("flood", flood).timeout(TIMEOUT),
        tool("broken_steps", broken_steps),
        waiting(gate, "wait", |_| {}),
        waiting_between_steps(gate),
        waiting(gate, "told_wait", |progress| progress.report(1.0, None, Some("waiting"))),
        Operation::new("plain", |params: RawParams| Json(params.0)),
    ];
    operations.into_iter().fold(Router::new(), Router::operation)
}

/// An operation whose name is `t.` and the tool's.
fn tool<H, M>(name: &str, handler: H) -> Operation
where
    H: Handler<M, ()>,
    M: 'static,
{
    Operation::new(format!("t.{name}"), handler).description("A tool.").tool(name)
}

fn waiting(gate: &Gate, name: &str, report: fn(&Progress)) -> Operation {
    let gate = gate.clone();
    tool(name, move |progress: Progress| {
        let gate = gate.clone();
        async move {
            report(&progress);
            gate.pass().await;
            "done"
        }
    })
}

/// Reports 0 after it has waited at the gate, and 1 after it has waited again.
fn waiting_between_steps(gate: &Gate) -> Operation {
    let gate = gate.clone();
    tool("wait_between", move |progress: Progress| {
        let gate = gate.clone();
        async move {
            for done in [0.0, 1.0] {
                gate.pass().await;
                progress.report(done, Some(1.0), Some("a step"));
            }
            "done"
        }
    })
}

fn fail_why() -> Result<Value, ErrorObject> {
    let data = json!({ "reason": "the disk is full" });
    Err(ErrorObject::new(8, "it broke").with_data(&data))
}

fn newlines() -> Json<Box<RawValue>> {
    Json(RawValue::from_string("{\n  \"a\":\r\n [1,\n 2]\n}".to_owned()).unwrap())
}

fn blocks() -> Json<Vec<Block>> {
    Json(vec![
        Block::text("one"),
        Block::image(b"two", "image/png"),
        Block::audio(b"three", "audio/wav"),
        Block::resource("test://four", "text/plain", "four"),
    ])
}

fn words(arguments: &[u8], outcome: Result<&[u8], &ErrorObject>) -> String {
    format!("{} -> {}", String::from_utf8_lossy(arguments), outcome.is_ok())
}

fn lost_words(_: &[u8], _: Result<&[u8], &ErrorObject>) -> String {
    panic!("the secret")
}

fn picky() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "type": "string", "enum": ["red", "green"] },
            "size": { "type": "integer", "minimum": 1 },
        },
        "required": ["kind", "size"],
        "additionalProperties": false,
    })
}

fn mirrored() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
        },
    })
}

fn sampling(client: ClientCapabilities) -> Result<&'static str, MissingCapability> {
    client.require("sampling")?;
    Ok("sampled")
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Name {
    name: String,
}

async fn greet(client: Peer) -> Result<String, PeerError> {
    Ok(match client.elicit("name", "What is your name?").await? {
        ElicitResult::Accept(Name { name }) => format!("Hello, {name}!"),
        ElicitResult::Decline => "Hello!".to_owned(),
        ElicitResult::Cancel => "Bye!".to_owned(),
    })
}

/// Asks two questions at once and, after the answers, a third one.
async fn ask_twice(client: Peer) -> Result<String, PeerError> {
    let (first, roots) =
        tokio::join!(client.elicit::<Name>("first", "First name?"), client.roots("roots"));
    let first = first?.accepted().map_or(String::new(), |answer| answer.name);
    let last = client.elicit::<Name>("last", "Last name?").await?;
    let last = last.accepted().map_or(String::new(), |answer| answer.name);
    Ok(format!("{first} {last}, {} roots", roots?.len()))
}

async fn ask_model(client: Peer) -> Result<String, PeerError> {
    Ok(client.sample("model", &CreateMessageRequest::new("What?", 10)).await?.text())
}

/// Asks the same question until the answer is not empty.
async fn ask_until(client: Peer) -> Result<String, PeerError> {
    loop {
        let answer = client.elicit::<Name>("name", "What is your name?").await?;
        if let Some(Name { name }) = answer.accepted().filter(|answer| !answer.name.is_empty()) {
            return Ok(name);
        }
    }
}

/// Asks two questions at once with the same key.
async fn ask_same(client: Peer) -> Result<String, PeerError> {
    let ask = || client.elicit::<Name>("name", "What is your name?");
    tokio::try_join!(ask(), ask())?;
    Ok(String::new())
}

/// Asks a new question whatever the answers are.
async fn ask_forever(client: Peer) -> Result<String, PeerError> {
    for round in 0.. {
        client.elicit::<Name>(&round.to_string(), "Again?").await?;
    }
    Ok(String::new())
}

async fn steps(progress: Progress) -> &'static str {
    for done in [0.0, 50.0, 50.0, 40.0, f64::NAN, 100.0] {
        progress.report(done, Some(100.0), None);
        yield_now().await;
    }
    "done"
}

/// Reports all progress without waiting.
fn steps_at_once(progress: Progress) -> &'static str {
    for done in [0.0, 50.0, 100.0] {
        progress.report(done, Some(100.0), None);
    }
    "done"
}

/// Reports the last progress when it ends.
async fn last_step(progress: Progress) -> &'static str {
    progress.report(0.0, Some(100.0), None);
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    progress.report(50.0, Some(100.0), None);
    progress.report(100.0, Some(100.0), None);
    "done"
}

async fn broken_steps(progress: Progress) -> Result<Value, ErrorObject> {
    progress.report(1.0, None, Some("so far so good"));
    yield_now().await;
    Err(ErrorObject::new(7, "it broke"))
}

async fn logs(log: Log) -> &'static str {
    for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Emergency] {
        log.send(level, &json!({ "level": level }));
        yield_now().await;
    }
    "done"
}

/// The number of messages of `flood`.
pub(crate) const FLOOD: u32 = 1_000;

/// 20 MB: more than sockets hold.
async fn flood(progress: Progress) -> &'static str {
    let message = "x".repeat(20_000);
    for done in 0..FLOOD {
        progress.report(f64::from(done), None, Some(&message));
        yield_now().await;
    }
    "done"
}
