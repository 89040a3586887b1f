//! `trunkline tools`.

mod listing;
mod property;

use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::client::http::Url;
use trunkline_mcp::client::{Client, McpClientConfig, Tool, ToolList, ToolResult};

use self::property::{Property, properties};
use crate::commands::connection::{Connection, NOTES, url};
use crate::terminal::output;
use crate::terminal::{Failure, Form, Words, finish, line, lines, wait_for};

/// Lists the tools of an MCP server, or calls one.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The server, like http://127.0.0.1:8080 (its /mcp is asked), or its MCP endpoint
    #[arg(value_parser = url)]
    url: Url,
    /// The tool to call; without it, all are listed.
    name: Option<String>,
    /// Arguments: nothing; one JSON object; - to read it from stdin; or key=value for each. A value is a
    /// string if the tool expects one, else JSON if it parses; key:=JSON accepts JSON only.
    #[arg(value_name = "ARGUMENTS")]
    arguments: Vec<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Lists the tools, or calls one.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || {
        let words = Words::read(&arguments.arguments, stdin()).map_err(Failure::Usage)?;
        if matches!(&words, Words::Json(json) if !json.get().starts_with('{')) {
            return Err(Failure::Usage("the arguments of a tool are an object".to_owned()));
        }
        wait_for(ask(arguments, words, form))
    })
}

async fn ask(arguments: &Arguments, words: Words, form: Form) -> Result<String, Failure> {
    let url = arguments.url.clone().or_path("/mcp");
    let connection = &arguments.connection;
    let mut settings = McpClientConfig::new("trunkline", env!("CARGO_PKG_VERSION"));
    settings.timeout = connection.timeout();
    let client = Client::connect(connection.connect(url)?, settings).await?;
    let done = match &arguments.name {
        None => list(&client, form).await,
        Some(name) => call(&client, name, words, form).await,
    };
    client.close().await;
    done
}

async fn list(client: &Client, form: Form) -> Result<String, Failure> {
    let ToolList { tools, rejected } = client.tools().await?;
    for (name, reason) in &rejected {
        output::complain(&format!("trunkline: {} is left out: {}\n", line(name), line(reason)));
    }
    if form.is_json {
        let objects: Vec<&str> = tools.iter().map(|tool| tool.object.get()).collect();
        return Ok(form.json(&format!("[{}]", objects.join(","))));
    }
    Ok(listing::of(&tools, form))
}

async fn call(client: &Client, name: &str, words: Words, form: Form) -> Result<String, Failure> {
    let ToolList { tools, rejected } = client.tools().await?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Err(Failure::Told(no_such_tool(name, &tools, &rejected)));
    };
    let properties = properties(&tool.input_schema);
    let is_text = |name: &str| {
        let property = properties.iter().find(|property| property.name == name);
        property.is_some_and(Property::is_text)
    };
    let arguments = words.into_json(is_text);
    let none = RawValue::from_string("{}".to_owned()).expect("it is an object");
    let answer = client.call(tool, arguments.as_deref().unwrap_or(&none)).await?;
    if answer.kind != "complete" {
        return Err(Failure::Told(format!(
            "trunkline: the tool answers {:?}, and this client cannot go on from there\n",
            answer.kind
        )));
    }
    let text = text(&answer, form);
    if answer.is_error { Err(Failure::Told(text)) } else { Ok(text) }
}

/// The data of a success; of a failure, what the tool says to people.
fn text(answer: &ToolResult, form: Form) -> String {
    if form.is_json {
        let json = answer.object.get();
        return if answer.is_error { form.told_json(json) } else { form.json(json) };
    }
    match &answer.structured {
        Some(value) if !answer.is_error || answer.content.is_empty() => form.value(value),
        _ => answer.content.iter().map(content).collect(),
    }
}

/// A content block, for people.
fn content(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let kind = text(&block["type"]);
    let summary = match (kind.as_str(), &block["resource"]) {
        ("text", _) => return format!("{}\n", lines(&text(&block["text"]))),
        ("resource", resource) if resource["text"].is_string() => {
            return format!("{}\n", lines(&text(&resource["text"])));
        }
        ("resource", resource) => format!("resource: {}", text(&resource["uri"])),
        ("resource_link", _) => format!("resource: {}", text(&block["uri"])),
        ("image" | "audio", _) => {
            let bytes = block["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
            format!("{kind}: {}, about {bytes} bytes", text(&block["mimeType"]))
        }
        _ => kind,
    };
    format!("[{}]\n", line(&summary))
}

fn no_such_tool(name: &str, tools: &[Tool], rejected: &[(String, String)]) -> String {
    if let Some((_, reason)) = rejected.iter().find(|(known, _)| known == name) {
        return format!("trunkline: {} must not be called: {}\n", line(name), line(reason));
    }
    let names: Vec<_> = tools.iter().map(|tool| line(&tool.name)).collect();
    format!("trunkline: there is no tool {}; there are: {}\n", line(name), names.join(", "))
}
