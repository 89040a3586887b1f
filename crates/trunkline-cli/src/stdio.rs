//! `trunkline mcp`.

use std::io::{stdin, stdout};
use std::time::Duration;

use anyhow::Context;
use trunkline::server::shutdown_signal;

use crate::arguments::Source;
use crate::{database, service};

/// How long a database that was written to may take to be closed.
pub(crate) const CLOSING: Duration = Duration::from_secs(5);

/// Serves the client that started this process, until it closes stdin, or SIGINT or SIGTERM.
pub(crate) fn run(arguments: &Source) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let opened = database::open(arguments)?;
    let writable = if arguments.writable { "writable" } else { "read-only" };
    // stdout is the client's.
    tracing::info!(database = %opened.path.display(), writable, done = opened.done, "serving on stdio");
    let mcp = service::of(opened.database.clone())?;
    let served = runtime.block_on(async {
        let shutdown = shutdown_signal().context("cannot wait for signals")?;
        tokio::select! {
            served = mcp.serve_stdio(stdin(), stdout()) => Ok(served?),
            () = shutdown => Ok(()),
        }
    });
    // The thread that reads stdin may wait there for ever.
    runtime.shutdown_background();
    opened.database.close(CLOSING);
    served
}
