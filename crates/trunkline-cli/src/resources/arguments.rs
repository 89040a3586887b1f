use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline::client::http::Url;

use crate::call::{Connection, NOTES, url};

/// Shows the types of resources of a file, or of a server.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) wanted: Wanted,
}

#[derive(Subcommand)]
pub(super) enum Wanted {
    /// Lists the types. Of a file that cannot be served, it says why.
    #[command(after_help = NOTES)]
    List(Source),
    /// Describes one type: its fields, and what can be done with its records.
    #[command(after_help = NOTES)]
    Describe {
        /// The type, like todo
        name: String,
        #[command(flatten)]
        source: Source,
    },
}

/// Whose types they are.
#[derive(Args)]
pub(super) struct Source {
    /// The types that this file declares; without it, those that `serve` has without it.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_RESOURCES")]
    pub(super) resources: Option<PathBuf>,
    /// Those of a running server instead, like http://127.0.0.1:8080 (its /forms is asked).
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(super) url: Option<Url>,
    #[command(flatten)]
    pub(super) connection: Connection,
}
