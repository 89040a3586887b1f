use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline::client::http::Url;

use crate::commands::connection::{Connection, MORE, NOTES, url};
use crate::terminal::Format;

/// Show the record types of a file or a server
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// List the types
    ///
    /// Reports why a file cannot be served.
    #[command(after_help = MORE, after_long_help = NOTES)]
    List(Source),
    /// Describe a type: its fields and commands
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
    #[arg(long, value_name = "URL", value_parser = url)]
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
        self.resources.clone().or_else(|| env::var_os("TRUNKLINE_RESOURCES").map(PathBuf::from))
    }
}
