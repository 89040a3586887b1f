//! `trunkline resources`: the resources of MCP servers.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_mcp::{Contents, Resource, ResourceData, ResourceTemplate};

use crate::commands::connection::{Connection, MORE, OutputFormat};
use crate::commands::mcp::{self, ListItem, McpArgs, Part, Session, list_text};
use crate::terminal::{Failure, Format, Renderer, finish, output};

/// List the resources of an MCP server, or read one
#[derive(Args)]
#[command(
    after_help = MORE, after_long_help = mcp::notes(),
    override_usage = "trunkline resources [OPTIONS] [ADDRESS] [list | templates | read URI]\n       \
                      trunkline resources [OPTIONS] [list | templates | read URI] -- COMMAND..."
)]
pub(crate) struct Arguments {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    ///
    /// The default path is /mcp.
    address: Option<String>,
    /// `list`, `templates` or `read URI` [default: list]
    #[arg(value_name = "ACTION")]
    action: Vec<String>,
    /// Read the resource again after each change, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    output: OutputFormat,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    connection: Connection,
}

/// A request about the resources of a server.
enum Action<'a> {
    List,
    Templates,
    Read(&'a str),
}

/// Lists or reads resources.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Arguments { address, action, watch, output, mcp, connection } = arguments;
    let renderer = output.renderer(connection);
    finish(renderer, || {
        let words = address.iter().chain(action).map(String::as_str);
        let (target, words) = mcp.split_target(words)?;
        let action = match *words {
            [] | ["list"] => Action::List,
            ["templates"] => Action::Templates,
            ["read", uri] => Action::Read(uri),
            ["read"] => return Err(Failure::Usage("missing URI after `read`".to_owned())),
            [other, ..] => {
                let reason = format!("unknown action `{other}`; use list, templates or read URI");
                return Err(Failure::Usage(reason));
            }
        };
        if *watch && !matches!(action, Action::Read(_)) {
            return Err(Failure::Usage("--watch requires `read URI`".to_owned()));
        }
        let run = mcp.run(target, connection, async |session| match action {
            Action::List => {
                let list = session.client.list_resources().await?;
                list_text(renderer, "resource", &list, |item| (item.object(), Row::of(item)))
            }
            Action::Templates => {
                let list = session.client.list_resource_templates().await?;
                list_text(renderer, "template", &list, |item| {
                    (item.object(), TemplateRow::of(item))
                })
            }
            Action::Read(uri) if *watch => follow(session, uri, mcp, renderer).await,
            Action::Read(uri) => read(session, uri, mcp, renderer).await,
        });
        match run {
            Err(Failure::Interrupted(_)) if *watch => Ok(String::new()),
            run => run,
        }
    })
}

#[derive(Serialize)]
struct Row<'r> {
    uri: &'r str,
    name: &'r str,
    #[serde(rename = "type")]
    mime_type: &'r str,
    size: String,
    description: &'r str,
}

impl<'r> Row<'r> {
    fn of(item: &'r Resource) -> Self {
        Self {
            uri: &item.uri,
            name: item.title.as_deref().unwrap_or(&item.name),
            mime_type: item.mime_type.as_deref().unwrap_or_default(),
            size: item.size.map(|size| size.to_string()).unwrap_or_default(),
            description: item.description.as_deref().unwrap_or_default(),
        }
    }
}

impl ListItem for Row<'_> {
    fn key(&self) -> &str {
        self.uri
    }

    fn remark(&self) -> String {
        let size = if self.size.is_empty() { "" } else { " bytes" };
        let parts = [self.mime_type.to_owned(), format!("{}{size}", self.size)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn description(&self) -> String {
        described(self.name, self.description)
    }
}

/// The name, which may be the description.
fn described(name: &str, description: &str) -> String {
    if description.is_empty() { name.to_owned() } else { format!("{name}: {description}") }
}

#[derive(Serialize)]
struct TemplateRow<'r> {
    template: &'r str,
    name: &'r str,
    #[serde(rename = "type")]
    mime_type: &'r str,
    description: &'r str,
}

impl<'r> TemplateRow<'r> {
    fn of(item: &'r ResourceTemplate) -> Self {
        Self {
            template: &item.uri_template,
            name: item.title.as_deref().unwrap_or(&item.name),
            mime_type: item.mime_type.as_deref().unwrap_or_default(),
            description: item.description.as_deref().unwrap_or_default(),
        }
    }
}

impl ListItem for TemplateRow<'_> {
    fn key(&self) -> &str {
        self.template
    }

    fn remark(&self) -> String {
        self.mime_type.to_owned()
    }

    fn description(&self) -> String {
        described(self.name, self.description)
    }
}

async fn read(
    session: &Session,
    uri: &str,
    mcp: &McpArgs,
    renderer: Renderer,
) -> Result<String, Failure> {
    let result = session.client.read_resource_with(uri, session.options()).await?;
    session.clear_status();
    let parts = || result.contents.iter().cloned().map(Part::of_resource).collect();
    match (renderer.format(), document(&result)) {
        (Some(Format::Json), _) => {
            mcp.save(parts())?;
            Ok(renderer.json(result.object().get()))
        }
        (Some(_), Some(document)) => renderer.only_page(&document),
        _ => mcp.text(parts()),
    }
}

/// The content, if it is one JSON document.
fn document(result: &Contents) -> Option<Box<RawValue>> {
    match &*result.contents {
        [item] if let ResourceData::Text(text) = &item.data => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Prints the content of a resource now and after each change.
async fn follow(
    session: &Session,
    uri: &str,
    mcp: &McpArgs,
    renderer: Renderer,
) -> Result<String, Failure> {
    session.client.subscribe(uri).await?;
    loop {
        let text = read(session, uri, mcp, renderer).await?;
        output::data(&text).map_err(Failure::Output)?;
        tokio::select! {
            () = session.updated() => {}
            () = session.client.closed() => {
                return Err(Failure::Message("trunkline: the server has closed the connection\n".to_owned()));
            }
        }
    }
}
