//! `trunkline mcp`.

use std::io::{stdin, stdout};
use std::time::Duration;

use anyhow::{Context, bail};
use trunkline::CancellationToken;
use trunkline::server::shutdown_signal;
use trunkline_mcp::Mcp;

use crate::arguments::Source;
use crate::{database, service};

/// How long a database that was written to may take to be closed.
pub(crate) const CLOSING: Duration = Duration::from_secs(5);

/// Serves the client that started this process, until it closes stdin, or SIGINT or SIGTERM; what it
/// asked for until then is answered, unless there is a second signal.
pub(crate) fn run(arguments: &Source) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let opened = database::open(arguments)?;
    let writable = if arguments.writable { "writable" } else { "read-only" };
    // stdout is the client's.
    tracing::info!(database = %opened.path.display(), writable, done = opened.done, "serving on stdio");
    let mcp = service::of(opened.database.clone())?;
    let served = runtime.block_on(serve(&mcp));
    // The thread that reads stdin may wait there for ever.
    runtime.shutdown_background();
    opened.database.close(CLOSING);
    served
}

async fn serve(mcp: &Mcp) -> anyhow::Result<()> {
    let closing = CancellationToken::new();
    let mut served = Box::pin(mcp.serve_stdio(stdin(), stdout(), closing.clone()));
    let shutdown = shutdown_signal().context("cannot wait for signals")?;
    tokio::select! {
        served = &mut served => return Ok(served?),
        () = shutdown => closing.cancel(),
    }
    let again = shutdown_signal().context("cannot wait for signals")?;
    tokio::select! {
        served = served => Ok(served?),
        () = again => bail!("calls were cut off by a second signal"),
    }
}
