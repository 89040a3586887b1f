//! A client of rmcp, the official Rust SDK: uses the features of the example `conformance_server`.
//!
//! Its arguments are those of the scripts of the other SDKs: `features VERSION http URL`, or
//! `features VERSION stdio COMMAND ARGS…`.

mod features;
mod user;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::features::Features;
use crate::user::User;

/// The deadline of the run.
const DEADLINE: Duration = Duration::from_secs(50);
/// The deadline of closing the connection.
const CLOSING: Duration = Duration::from_millis(1500);

pub type Session = RunningService<RoleClient, User>;

#[tokio::main]
async fn main() -> ExitCode {
    let result = timeout(DEADLINE, run()).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
    if let Err(error) = result {
        eprintln!("FAILED: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [_, version, transport, target @ ..] = &args[..] else {
        bail!("usage: rmcp-client features VERSION http URL | stdio COMMAND ARGS…");
    };
    let user = User::default();
    let session = open(version, transport, target, user.clone()).await?;
    Features::new(&session, user, version).run().await?;
    let start = Instant::now();
    session.cancel().await?;
    ensure!(start.elapsed() < CLOSING, "closing took {:?}", start.elapsed());
    println!("  ok: closed");
    Ok(())
}

async fn open(version: &str, transport: &str, target: &[String], user: User) -> Result<Session> {
    let lifecycle = match version {
        "2026-07-28" => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let (first, rest) = target.split_first().context("the target is missing")?;
    if transport == "http" {
        let transport = StreamableHttpClientTransport::from_uri(&**first);
        return Ok(user.serve_with_lifecycle(transport, lifecycle).await?);
    }
    let mut command = Command::new(first);
    command.args(rest);
    Ok(user.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?)
}
