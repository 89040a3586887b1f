//! The end of a server: running calls finish, and files are closed.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use trunkline::ServerHandle;
use trunkline::server::{self, Drained};
use trunkline_agent::conversation::Conversations;
use trunkline_mcp::Mcp;

use super::history::Recorder;
use super::service::Service;

/// Waits for the calls that run, until a second signal.
pub(super) async fn drain(
    server: &ServerHandle,
    mcp: &Mcp,
    drain_timeout: Duration,
) -> anyhow::Result<Drained> {
    let second = server::shutdown_signal().context("cannot wait for signals")?;
    let second = async {
        second.await;
        if server.status().in_flight == 0 {
            // The server ends anyway. If it ended here, its databases would not be closed.
            mcp.stop(Duration::ZERO).await;
            std::future::pending::<()>().await;
        }
    };
    let stopped = async {
        let until = Instant::now() + drain_timeout;
        let drained = server.stop().await;
        // From here on, no request can start a call that outlives its client.
        let dropped = mcp.stop(until.saturating_duration_since(Instant::now())).await;
        mcp.leave_nodes().await;
        mcp.stop_saving_sessions().await;
        (drained, dropped)
    };
    tokio::select! {
        biased;
        (drained, dropped) = stopped => {
            if dropped > 0 {
                tracing::warn!(dropped, "calls of disconnected clients did not end within the drain timeout");
            }
            Ok(drained)
        }
        () = second => {
            bail!("a second signal aborted {} requests", server.status().in_flight)
        }
    }
}

/// Writes the last entries of the logs, while calls may still run.
pub(super) fn close_logs(served: &Service, recorder: Option<&Recorder>) {
    const TIMEOUT: Duration = Duration::from_secs(1);
    tokio::task::block_in_place(|| {
        if let Some(recorder) = recorder {
            recorder.close(TIMEOUT);
        }
        if let Some(audit) = &served.audit
            && !audit.close(TIMEOUT)
        {
            tracing::warn!("the last entries of the audit log were not written in time");
        }
    });
}

/// Closes what has files or connections.
pub(super) fn close(
    served: &Service,
    conversations: Option<&Conversations>,
    recorder: Option<&Recorder>,
) {
    /// The maximum time to write the last entries of the log and of conversations.
    const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
    tokio::task::block_in_place(|| {
        served.close();
        if conversations.is_some_and(|conversations| !conversations.close(WRITE_TIMEOUT)) {
            tracing::warn!("the conversations were not closed in time");
        }
        if let Some(recorder) = recorder {
            recorder.close(WRITE_TIMEOUT);
        }
    });
}
