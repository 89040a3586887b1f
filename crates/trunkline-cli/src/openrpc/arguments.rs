use std::path::PathBuf;

use clap::Args;
use trunkline::client::http::Url;

use crate::call::{Connection, NOTES, url};

/// Prints what a JSON-RPC 2.0 server says of itself: its OpenRPC document.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Where the server answers, like http://127.0.0.1:8080
    #[arg(value_parser = url)]
    pub(super) url: Url,
    /// Write the document to this file, and print nothing.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) connection: Connection,
}
