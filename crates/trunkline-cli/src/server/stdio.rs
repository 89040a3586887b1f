//! `trunkline mcp`.

use std::io::{stdin, stdout};

use anyhow::{Context, bail};
use clap::Args;
use tracing::field::display;
use trunkline::CancellationToken;
use trunkline::server::shutdown_signal;
use trunkline_mcp::Mcp;

use super::database::{DatabaseArgs, QueryLimits, Served};
use super::records::DeclaredRecords;
use super::service::Service;
use super::shared_state::SharedState;
use super::{audit, command_tools, gateway, limits, records};
use crate::config::{Config, ConfigArgs};
use crate::telemetry::TelemetryArgs;

/// The flags of `mcp`.
#[derive(Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    _config: ConfigArgs,
    #[command(flatten)]
    records: records::RecordArgs,
    #[command(flatten)]
    tools: command_tools::CommandToolArgs,
    #[command(flatten)]
    upstreams: gateway::UpstreamArgs,
    #[command(flatten)]
    audit: audit::AuditArgs,
    #[command(flatten)]
    query_limits: QueryLimits,
    #[command(flatten)]
    memory: limits::Memory,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

impl Stdio {
    /// Sets the files of secrets, which are read again.
    pub(crate) fn set_secret_files(&mut self, config: &Config) {
        self.records.set_secret_files(config);
        self.telemetry.set_secret_files(config);
    }
}

/// Serves the client that started this process until it closes stdin, or until SIGINT or SIGTERM. Pending requests are
/// answered, unless there is a second signal.
pub(crate) fn run(arguments: &Stdio, config: &Config) -> anyhow::Result<()> {
    config.log();
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async { limits::outlive_file_size() }).context("cannot wait for signals")?;
    let has_records = arguments.records.has_types();
    let location = arguments.records.location()?;
    let declared = has_records.then(|| arguments.records.declared(&location)).transpose()?;
    let names = declared.as_ref().map(DeclaredRecords::names).unwrap_or_default();
    let gateway =
        arguments.upstreams.gateway(config, Some(&arguments.records.data_dir()), &names)?;
    let audit = arguments.audit.open()?;
    let requested = arguments.database.requested(config, gateway.is_some())?;
    let opened = arguments.database.open(&arguments.query_limits, requested);
    let opened = runtime.block_on(opened)?;
    let command_tools = arguments.tools.command_tools();
    let tools = command_tools.as_ref().map(|tools| tools.operations.clone());
    let memory = arguments.memory.budget();
    let output_schemas = arguments.tools.output_schemas;
    let closing = CancellationToken::new();
    let mut service = Service {
        databases: opened.as_ref().map(|opened| opened.databases.clone()),
        are_databases_separate: opened.as_ref().is_some_and(|opened| opened.are_separate),
        queries: config.queries().to_vec(),
        replaceable_queries: None,
        records: None,
        tools,
        gateway,
        history: None,
        history_readers: None,
        memory,
        output_schemas,
        client_results: config.clients().clone(),
        max_tool_name: arguments.tools.max_tool_name,
        confirm_destructive: arguments.tools.confirm_destructive,
        confirm_after_cancel: arguments.tools.confirm_after_cancel,
        audit,
        nodes: runtime.block_on(SharedState::open(&location))?,
        session_store: None,
        closing: closing.clone(),
    };
    let served = declared.map(DeclaredRecords::open).transpose().and_then(|records| {
        service.records = records;
        for database in opened.iter().flat_map(|opened| &opened.served) {
            let Served { location, preparation, .. } = database;
            let access = if database.is_writable { "writable" } else { "read-only" };
            tracing::info!(database = %location, access, preparation, "opened a database");
        }
        let records = service.records.as_ref();
        let records = records.map(|records| display(&records.location));
        // stdout belongs to the protocol.
        tracing::info!(records, "serving on stdio");
        let mcp = runtime.block_on(service.mcp())?;
        runtime.block_on(async {
            service.watch_databases();
            let tools = command_tools.as_ref().map(|tools| tools.load(&mcp.rpc())).transpose()?;
            if let Some(gateway) = &service.gateway {
                gateway::start(gateway).await;
            }
            let served = serve(&mcp, closing).await;
            mcp.leave_nodes().await;
            if let Some(gateway) = &service.gateway {
                gateway::stop(gateway).await;
            }
            if let Some(tools) = &tools {
                command_tools::end(tools).await;
            }
            served
        })
    });
    // The thread that reads stdin may be blocked.
    runtime.shutdown_background();
    service.close();
    served
}

async fn serve(mcp: &Mcp, closing: CancellationToken) -> anyhow::Result<()> {
    let mut served = Box::pin(mcp.serve_stdio(stdin(), stdout(), closing.clone()));
    let shutdown = shutdown_signal().context("cannot wait for signals")?;
    tokio::select! {
        served = &mut served => return Ok(served?),
        () = shutdown => closing.cancel(),
    }
    let second = shutdown_signal().context("cannot wait for signals")?;
    tokio::select! {
        served = served => Ok(served?),
        () = second => bail!("a second signal aborted calls"),
    }
}
