//! `trunkline logout`.

use std::process::ExitCode;

use clap::Args;

use super::connection::{Address, MORE};
use crate::oauth;
use crate::terminal::{Failure, Renderer, finish, line, wait_for};

/// Remove the stored OAuth tokens of an MCP server
///
/// They are those of --login. The server is not notified: it accepts them until they expire.
#[derive(Args)]
#[command(after_help = MORE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Address,
}

/// Removes the tokens.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    finish(Renderer::for_streams(false, None), || {
        let url = arguments.server.url()?.or_path("/mcp");
        let folder = oauth::tokens_folder()?;
        let failed = |error: &dyn std::error::Error| {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Failure::Message(format!("trunkline: {error}{cause}\n"))
        };
        let oauth = oauth::of_user(&url, folder, |_| {}).map_err(|error| failed(&error))?;
        let removed = wait_for(async { Ok(oauth.forget_tokens().await) })?;
        let name = line(&url.to_string()).into_owned();
        match removed.map_err(|error| failed(&error))? {
            true => Ok(format!("removed the tokens of {name}\n")),
            false => Ok(format!("no tokens of {name} are stored\n")),
        }
    })
}
