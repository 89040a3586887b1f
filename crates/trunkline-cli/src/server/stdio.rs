//! `trunkline mcp`.

use std::io::{stdin, stdout};

use anyhow::{Context, bail};
use clap::Args;
use tracing::field::display;
use trunkline::CancellationToken;
use trunkline::server::shutdown_signal;
use trunkline_mcp::Mcp;

use super::database::{self, Opened, Source};
use super::service::Service;
use super::{command_tools, limits, records};

#[derive(Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    records: records::Arguments,
    #[command(flatten)]
    tools: command_tools::Folder,
    #[command(flatten)]
    memory: limits::Memory,
}

/// Serves the client that started this process, until it closes stdin, or SIGINT or SIGTERM; what it
/// asked for until then is answered, unless there is a second signal.
pub(crate) fn run(arguments: &Stdio) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async { limits::outlive_file_size() }).context("cannot wait for signals")?;
    // A client may start this where nothing can be written.
    let are_wanted = arguments.records.are_given();
    let declared = are_wanted.then(|| records::declared(&arguments.records)).transpose()?;
    let Opened { path, database, done } = database::open(&arguments.source)?;
    let place = arguments.tools.place();
    let tools = place.as_ref().map(|place| place.operations.clone());
    let memory = arguments.memory.budget();
    let mut service = Service { database, records: None, tools, history: None, memory };
    let served = declared.map(records::Declared::open).transpose().and_then(|records| {
        service.records = records;
        let writable = if arguments.source.writable { "writable" } else { "read-only" };
        let records = service.records.as_ref();
        let records = records.map(|records| display(records.directory.display()));
        let database = path.display();
        // stdout is the client's.
        tracing::info!(%database, writable, done, records, "serving on stdio");
        let mcp = service.mcp()?;
        runtime.block_on(async {
            let tools = place.as_ref().map(|place| place.fill(&mcp.rpc())).transpose()?;
            let served = serve(&mcp).await;
            if let Some(tools) = &tools {
                command_tools::end(tools).await;
            }
            served
        })
    });
    // The thread that reads stdin may wait there for ever.
    runtime.shutdown_background();
    service.close();
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
