//! `trunkline prompts`.

use std::collections::BTreeMap;
use std::io::stdin;
use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use serde::Serialize;
use trunkline_mcp::client::List;
use trunkline_mcp::{Prompt, PromptArgument, Received, Role};

use crate::commands::connection::{Connection, MORE, OutputFormat};
use crate::commands::mcp::{self, ListItem, McpArgs, Part, Session, list_text};
use crate::terminal::{Failure, Params, Renderer, finish, line, similar};

const ROLE: Style = Style::new().bold();

/// List the prompts of an MCP server, or get one
#[derive(Args)]
#[command(
    after_help = MORE, after_long_help = mcp::notes(),
    override_usage = "trunkline prompts [OPTIONS] [ADDRESS] [list | get NAME [ARGUMENTS]...]\n       \
                      trunkline prompts [OPTIONS] [list | get NAME [ARGUMENTS]...] -- COMMAND..."
)]
pub(crate) struct Arguments {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    ///
    /// The default path is /mcp.
    address: Option<String>,
    /// `list`, or `get NAME` [default: list]
    #[arg(value_name = "ACTION")]
    action: Option<String>,
    /// Name of the prompt
    name: Option<String>,
    /// Arguments of the prompt: key=value for each, one JSON object, or - to read it from stdin
    #[arg(value_name = "ARGUMENTS")]
    arguments: Vec<String>,
    #[command(flatten)]
    output: OutputFormat,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    connection: Connection,
}

/// Lists the prompts, or gets one.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Arguments { address, action, name, arguments, output, mcp, connection } = arguments;
    let renderer = output.renderer(connection);
    finish(renderer, || {
        let words = address.iter().chain(action).chain(name).chain(arguments);
        let (target, words) = mcp.split_target(words.map(String::as_str))?;
        let prompt = match &*words {
            [] | ["list"] => None,
            ["get", name, arguments @ ..] => Some((*name, strings(arguments)?)),
            ["get"] => return Err(Failure::Usage("missing NAME after `get`".to_owned())),
            [other, ..] => {
                let reason = format!("unknown action `{other}`; use list or get NAME");
                return Err(Failure::Usage(reason));
            }
        };
        mcp.run(target, connection, async |session| match prompt {
            None => {
                let list = session.client.list_prompts().await?;
                list_text(renderer, "prompt", &list, |item| (item.object(), Row::of(item)))
            }
            Some((name, arguments)) => get(session, (name, &arguments), mcp, renderer).await,
        })
    })
}

/// The arguments of a prompt, which are strings.
fn strings(words: &[&str]) -> Result<BTreeMap<String, String>, Failure> {
    let params = Params::read(words, stdin()).map_err(Failure::Usage)?;
    let Some(json) = params.into_json(|_| true) else { return Ok(BTreeMap::new()) };
    let arguments = serde_json::from_str(json.get());
    arguments.map_err(|_| Failure::Usage("the arguments of a prompt must be strings".to_owned()))
}

#[derive(Serialize)]
struct Row<'p> {
    name: &'p str,
    arguments: String,
    description: &'p str,
}

impl<'p> Row<'p> {
    fn of(prompt: &'p Prompt) -> Self {
        let starred = |argument: &PromptArgument| {
            format!("{}{}", argument.name, if argument.required { "*" } else { "" })
        };
        let arguments: Vec<_> = prompt.arguments.iter().map(starred).collect();
        let description = prompt.description.as_deref().or(prompt.title.as_deref());
        Self {
            name: &prompt.name,
            arguments: arguments.join(", "),
            description: description.unwrap_or_default(),
        }
    }
}

impl ListItem for Row<'_> {
    fn key(&self) -> &str {
        self.name
    }

    fn remark(&self) -> String {
        self.arguments.clone()
    }

    fn description(&self) -> String {
        self.description.to_owned()
    }
}

async fn get(
    session: &Session,
    (name, arguments): (&str, &BTreeMap<String, String>),
    mcp: &McpArgs,
    renderer: Renderer,
) -> Result<String, Failure> {
    let result = session.client.get_prompt_with(name, arguments, session.options()).await;
    session.clear_status();
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            if error.error_object().is_some()
                && let Ok(list) = session.client.list_prompts().await
                && !list.items.iter().any(|prompt| prompt.name == name)
            {
                return Err(Failure::Message(unknown_prompt(name, &list)));
            }
            return Err(error.into());
        }
    };
    let mut parts = Vec::new();
    for message in &result.messages {
        let role = match message.role {
            Role::User => "user:",
            Role::Assistant => "assistant:",
        };
        parts.push(Part::Heading(renderer.paint(ROLE, role)));
        parts.push(Part::of_block(&message.content));
    }
    if renderer.is_json() {
        mcp.save(parts)?;
        return Ok(renderer.json(result.object().get()));
    }
    mcp.text(parts)
}

fn unknown_prompt(name: &str, list: &List<Received<Prompt>>) -> String {
    let remedy = match similar(name, list.items.iter().map(|prompt| &*prompt.name)) {
        names if names.is_empty() => "list the prompts with `trunkline prompts`".to_owned(),
        names => names.iter().map(|name| line(name)).collect::<Vec<_>>().join(", or "),
    };
    format!("trunkline: unknown prompt `{}`\n  try: {remedy}\n", line(name))
}
