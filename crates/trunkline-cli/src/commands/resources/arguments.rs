use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline::client::http::Url;

use crate::commands::connection::{Connection, MORE, NOTES, OutputFormat, URL};
use crate::commands::mcp::{self, McpArgs};
use crate::terminal::Format;

/// Show the resources of an MCP server, or the record types of a file or a server
///
/// `list` and `describe` as the first word are commands for record types. Everything else concerns the resources of an
/// MCP server.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = MORE, after_long_help = mcp::notes(),
    override_usage = "trunkline resources [OPTIONS] [ADDRESS] [ACTION]\n       \
                      trunkline resources [OPTIONS] [ACTION] -- COMMAND...\n       \
                      trunkline resources list|describe [OPTIONS]"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) types: Option<Types>,
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    ///
    /// The default path is /mcp.
    pub(super) address: Option<String>,
    /// `read URI`, `templates`, or `list` after an address [default: list]
    #[arg(value_name = "ACTION")]
    pub(super) action: Vec<String>,
    /// Read the resource again after each change, until Ctrl-C
    #[arg(long)]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) output: OutputFormat,
    #[command(flatten)]
    pub(super) mcp: McpArgs,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Subcommand)]
pub(super) enum Types {
    /// List the record types
    ///
    /// Reports why a file cannot be served.
    #[command(after_help = MORE, after_long_help = NOTES)]
    List(Source),
    /// Describe a record type: its fields and commands
    #[command(after_help = MORE, after_long_help = NOTES)]
    Describe {
        /// Type, such as todo
        name: String,
        #[command(flatten)]
        source: Source,
    },
}

/// The file or server with the types, and the format of the output.
#[derive(Args)]
pub(super) struct Source {
    /// Declarations of the types [env: TRUNKLINE_RESOURCES] [default: the built-in types]
    // As an `env` of clap, the variable would conflict with --url.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    resources: Option<PathBuf>,
    /// Server URL or HOST:PORT, to show the types of a running server
    ///
    /// The default path is /forms.
    #[arg(long, value_name = "URL", value_parser = URL)]
    pub(super) url: Option<Url>,
    /// Format of the output [default: a table]
    #[arg(long, value_enum, conflicts_with = "json", help_heading = "Output")]
    pub(super) format: Option<Format>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Source {
    /// Returns the file of the flag or the variable.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.resources.clone().or_else(|| {
            let variable = env::var_os("TRUNKLINE_RESOURCES");
            variable.filter(|path| !path.is_empty()).map(PathBuf::from)
        })
    }
}
