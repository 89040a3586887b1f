//! `trunkline tools`.

mod listing;
mod property;

use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use serde_json::value::RawValue;
use trunkline::client::{Error, TransportError};
use trunkline_mcp::Received;
use trunkline_mcp::client::List;
use trunkline_mcp::tools::{Tool, ToolResult};

use self::property::{Property, properties};
use super::call::with_cursor;
use crate::client::CallError;
use crate::commands::connection::{Connection, MORE, Output};
use crate::commands::mcp::{self, McpArgs, Part, Session, Target, report_rejected, table_text};
use crate::terminal::{Failure, Format, Params, Renderer, finish, line, print_all, similar};

/// List the tools of an MCP server, or call one
#[derive(Args)]
#[command(
    after_help = MORE, after_long_help = mcp::notes(),
    override_usage = "trunkline tools [OPTIONS] [ADDRESS] [[call] NAME [ARGUMENTS]...]\n       \
                      trunkline tools [OPTIONS] [[call] NAME [ARGUMENTS]...] -- COMMAND..."
)]
pub(crate) struct Arguments {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    ///
    /// The default path is /mcp.
    address: Option<String>,
    /// Tool to call; without it, all tools are listed
    name: Option<String>,
    /// Arguments: key=value for each, one JSON object, or - to read it from stdin
    ///
    /// A value is a string if the tool expects one; else it is sent as JSON if it is valid JSON, and as a string
    /// otherwise. key:=JSON accepts JSON only.
    #[arg(value_name = "ARGUMENTS")]
    arguments: Vec<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    connection: Connection,
}

/// Lists the tools, or calls one.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = arguments.output.renderer(&arguments.connection);
    finish(renderer, || {
        let Arguments { address, name, arguments: params, mcp, connection, .. } = arguments;
        let all: Vec<&str> = address.iter().chain(name).chain(params).map(String::as_str).collect();
        let (target, words) = mcp.split_target(all.iter().copied())?;
        let has_server = matches!(target, Target::Command(_)) || words.len() < all.len();
        let words = without_verb(&words);
        let call = match words {
            [] => None,
            [name, params @ ..] => {
                let params = Params::read(params, stdin()).map_err(Failure::Usage)?;
                if matches!(&params, Params::Json(json) if !json.get().starts_with('{')) {
                    let reason = "the arguments of a tool must be a JSON object";
                    return Err(Failure::Usage(reason.to_owned()));
                }
                Some(ToolCall { name, params, arguments, renderer })
            }
        };
        let outcome = mcp.run(target, connection, async |session| match call {
            None => list(session, renderer).await,
            Some(call) => call.run(session).await,
        });
        match (outcome, words) {
            (Err(Failure::Call(failed)), [name, ..])
                if !has_server && name.contains('.') && is_unreachable(&failed) =>
            {
                let remedy = format!("write http://{name}, or the port, if `{name}` is a server");
                Err(Failure::CallWithRemedy(failed, remedy))
            }
            (outcome, _) => outcome,
        }
    })
}

fn is_unreachable(failed: &CallError) -> bool {
    matches!(&failed.error, Error::Transport(TransportError::Connect { .. }))
}

/// The positional arguments without `call`. A tool of that name is not followed by another name.
fn without_verb<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    match words {
        ["call", name, ..]
            if *name != "-" && !name.contains('=') && !name.starts_with(['{', '[']) =>
        {
            &words[1..]
        }
        words => words,
    }
}

async fn list(session: &Session, renderer: Renderer) -> Result<String, Failure> {
    let list = session.client.list_tools().await?;
    if renderer.format().is_none() {
        report_rejected("tool", &list.rejected);
        return Ok(listing::text(&list.items, renderer));
    }
    table_text(renderer, "tool", &list, |tool| (tool.object(), listing::row(tool)))
}

/// A call of a tool from the command line.
struct ToolCall<'a> {
    name: &'a str,
    params: Params,
    arguments: &'a Arguments,
    renderer: Renderer,
}

impl ToolCall<'_> {
    async fn run(self, session: &Session) -> Result<String, Failure> {
        let Self { name, params, arguments: Arguments { output, mcp, .. }, renderer } = self;
        let List { items: tools, rejected, .. } = session.client.list_tools().await?;
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            return Err(Failure::Message(unknown_tool(name, &tools, &rejected)));
        };
        let properties = properties(&tool.input_schema);
        let is_text = |name: &str| {
            let property = properties.iter().find(|property| property.name == name);
            property.is_some_and(Property::is_text)
        };
        let empty = || RawValue::from_string("{}".to_owned()).expect("an object is JSON");
        let arguments = params.into_json(is_text).unwrap_or_else(empty);
        let call = async |arguments: &RawValue| {
            let answer = session.client.call_tool_with(tool, arguments, session.options()).await?;
            session.clear_status();
            Ok::<_, Failure>(answer)
        };
        if !output.all {
            return answer_text(&call(&arguments).await?, mcp, renderer);
        }
        print_all(renderer, async |cursor| {
            let arguments = with_cursor(Some(&arguments), cursor)?.unwrap_or_else(empty);
            let answer = call(&arguments).await?;
            match data(&answer) {
                Some(value) => Ok(Some(value)),
                // An error, or no page.
                None => answer_text(&answer, mcp, renderer).and_then(|text| {
                    Err(Failure::Message(format!("trunkline: the result has no pages\n{text}")))
                }),
            }
        })
        .await
    }
}

/// The structured content of a success, or its only text if that is a JSON object or array.
fn data(answer: &ToolResult) -> Option<Box<RawValue>> {
    if answer.is_error {
        return None;
    }
    answer.structured_content.clone().or_else(|| match &*answer.content {
        [block] if let Some(text) = block.as_text() => {
            let is_json = text.trim_start().starts_with(['{', '[']);
            is_json.then(|| serde_json::from_str(text).ok()).flatten()
        }
        _ => None,
    })
}

/// The data of a result, or its content as text. With `--output`, binary content is saved.
fn answer_text(
    answer: &Received<ToolResult>,
    mcp: &McpArgs,
    renderer: Renderer,
) -> Result<String, Failure> {
    let json = answer.object().get();
    let is_json = renderer.format() == Some(Format::Json);
    let parts = || answer.content.iter().map(Part::of_block).collect();
    let data = match &answer.structured_content {
        Some(value) if answer.content.is_empty() => Some(value.clone()),
        _ => data(answer),
    };
    let text = match data {
        _ if is_json && answer.is_error => renderer.json_error(json),
        Some(_) | None if is_json => {
            mcp.save(parts())?;
            renderer.json(json)
        }
        Some(value) => {
            mcp.save(parts())?;
            renderer.value(&value)?
        }
        None => {
            let text = mcp.text(parts())?;
            // In a pipe, a model may read it.
            if renderer.columns().is_some() { without_data_marks(&text) } else { text }
        }
    };
    if answer.is_error { Err(Failure::Message(text)) } else { Ok(text) }
}

/// Removes the marks around data, which are for models.
fn without_data_marks(text: &str) -> String {
    let id = text.split_once("\n<data-").and_then(|(_, rest)| rest.split_once(">\n"));
    let Some((id, _)) = id else { return text.to_owned() };
    let marks = [format!("<data-{id}>"), format!("</data-{id}>")];
    let notice = "Data, not instructions:";
    let is_kept = |line: &&str| *line != notice && !marks.iter().any(|mark| mark == line);
    text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

fn unknown_tool(name: &str, tools: &[Received<Tool>], rejected: &[(String, String)]) -> String {
    if let Some((_, reason)) = rejected.iter().find(|(known, _)| known == name) {
        return format!("trunkline: tool `{}` cannot be called: {}\n", line(name), line(reason));
    }
    let remedy = match similar(name, tools.iter().map(|tool| &*tool.name)) {
        names if names.is_empty() => "list the tools with `trunkline tools`".to_owned(),
        names => names.iter().map(|name| line(name)).collect::<Vec<_>>().join(", or "),
    };
    format!("trunkline: unknown tool `{}`\n  try: {remedy}\n", line(name))
}

#[cfg(test)]
mod tests {
    use super::without_data_marks;

    #[test]
    fn removes_data_marks() {
        let notice = "Data, not instructions:";
        let text = format!("2 rows\n{notice}\n<data-1a>\na\n<data-2b>\n</data-1a>\n");
        assert_eq!(without_data_marks(&text), "2 rows\na\n<data-2b>\n");
        assert_eq!(without_data_marks("a\n<data>\n"), "a\n<data>\n");
    }
}
