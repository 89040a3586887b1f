use clap::Args;
use trunkline::client::http::Url;

use crate::call::{Connection, NOTES, url};

/// Sends a native command to a server, and prints its result.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The server, like http://127.0.0.1:8080 (its /execute is asked), or the endpoint itself
    #[arg(value_parser = url)]
    pub(super) url: Url,
    /// The command, a JSON object like '{"command": "list", "resource": "todo"}'; - reads it from
    /// stdin.
    #[arg(required_unless_present = "revert", conflicts_with = "revert")]
    pub(super) command: Option<String>,
    /// It may have been executed before: ask /repeat, which does nothing a second time.
    #[arg(long, conflicts_with = "revert")]
    pub(super) repeat: bool,
    /// Undo what the command with this `metadata.requestId` has done: ask /revert.
    #[arg(long, value_name = "REQUEST_ID")]
    pub(super) revert: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}
