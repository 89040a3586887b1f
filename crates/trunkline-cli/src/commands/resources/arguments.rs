use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline::client::http::Url;

use crate::commands::connection::{Connection, NOTES, url};

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
    /// The types that this file declares, or the one that TRUNKLINE_RESOURCES names; without it, those
    /// that `serve` has without it.
    // To clap, a variable would contradict --url as the flag does.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    resources: Option<PathBuf>,
    /// Those of a running server instead, like http://127.0.0.1:8080 (its /forms is asked).
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(super) url: Option<Url>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Source {
    /// The file of the flag, or of the variable.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.resources.clone().or_else(|| env::var_os("TRUNKLINE_RESOURCES").map(PathBuf::from))
    }
}
