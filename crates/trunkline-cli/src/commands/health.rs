//! `trunkline health`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use trunkline::client::Http;
use trunkline::client::http::{HttpClientConfig, Url};

use super::connection::{TIMEOUT_RANGE, URL};
use crate::config::{ConfigArgs, milliseconds};
use crate::server::network::Listeners;
use crate::terminal::{line, output, redacted};

/// Check whether a server works, for probes of containers
///
/// Without URL, checks the server that the flags, variables and configuration file of `trunkline serve` describe: at
/// its --health-listen, or else at its --listen. No shell and no token is needed. Prints one line.
///
/// Exit code: 0 if the server is ready, 1 if it is not or does not answer, 2 if the command line or the configuration
/// is invalid.
#[derive(Args)]
pub(crate) struct Arguments {
    /// URL of the server, or of one of its health pages [default: the configured server]
    #[arg(value_parser = URL)]
    url: Option<Url>,
    /// Check only whether the process answers, and not whether it is ready
    #[arg(long)]
    live: bool,
    /// Maximum time of the check in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = milliseconds(TIMEOUT_RANGE))]
    timeout_ms: u64,
    #[command(flatten)]
    _config: ConfigArgs,
    #[command(flatten)]
    listeners: Listeners,
    // Only whether there is one.
    #[arg(long, hide = true, env = "TRUNKLINE_TLS_CERT", hide_env = true)]
    tls_cert: Option<PathBuf>,
}

/// The body of a health page.
#[derive(Deserialize)]
struct Page {
    status: String,
    #[serde(default)]
    checks: BTreeMap<String, String>,
}

/// The maximum size of a health page in bytes.
const MAX_PAGE: usize = 64 << 10;

/// Prints the state of the server.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let url = arguments.url()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let limit = Duration::from_millis(arguments.timeout_ms);
    let checked = runtime.block_on(async {
        match tokio::time::timeout(limit, check(url.clone(), limit)).await {
            Ok(checked) => checked,
            Err(_) => bail!("no answer within {} ms", limit.as_millis()),
        }
    });
    // A name lookup may still be running.
    runtime.shutdown_background();
    match checked {
        Ok(state) => output::note(&format!("{url}: {}", line(&state))),
        Err(error) => {
            let text = format!("{url}: {error:#}");
            output::failure(&format!("trunkline: {}\n", line(&redacted(&text))));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn url(&self) -> anyhow::Result<Url> {
        let path = if self.live { "/health/live" } else { "/health/ready" };
        if let Some(url) = &self.url {
            return Ok(url.clone().or_path(path));
        }
        let probes = self.listeners.probes();
        let calls = self.listeners.calls();
        let address = probes.unwrap_or(&calls);
        ensure!(
            probes.is_some() || self.tls_cert.is_none(),
            "the server at {address} uses TLS, and its certificate is not one of {address}: set --health-listen, or \
             give the URL of the server"
        );
        ensure!(
            !address.ends_with(":0"),
            "the system chooses the port of {address}: give the URL of the server"
        );
        // An unspecified address cannot be connected to on all systems.
        let address = match address.parse::<SocketAddr>() {
            Ok(SocketAddr::V4(v4)) if v4.ip().is_unspecified() => {
                format!("127.0.0.1:{}", v4.port())
            }
            Ok(SocketAddr::V6(v6)) if v6.ip().is_unspecified() => format!("[::1]:{}", v6.port()),
            _ => address.to_owned(),
        };
        let url = format!("http://{address}{path}").parse();
        url.with_context(|| format!("invalid address {address}"))
    }
}

/// Returns the status of a health page. An error is one that the page reports, or that it cannot be read.
async fn check(url: Url, limit: Duration) -> anyhow::Result<String> {
    let config = HttpClientConfig {
        max_reply: MAX_PAGE,
        connect_timeout: limit,
        ..HttpClientConfig::default()
    };
    let mut reply = Http::with_config(url, config)?.get(HeaderMap::new()).await?;
    let mut body = Vec::new();
    while let Some(part) = reply.chunk().await? {
        body.extend_from_slice(&part);
    }
    describe(reply.status, &body)
}

fn describe(status: StatusCode, body: &[u8]) -> anyhow::Result<String> {
    let Ok(Page { status: text, checks }) = serde_json::from_slice(body) else {
        bail!("HTTP status {}, and no health page", status.as_u16());
    };
    let failed = checks.iter().filter(|(_, result)| *result != "ok");
    let failed = failed.map(|(name, reason)| format!("{name}: {reason}"));
    let failed = failed.collect::<Vec<_>>().join("; ");
    let text = if failed.is_empty() { text } else { format!("{text}: {failed}") };
    ensure!(status.is_success(), text);
    Ok(text)
}
