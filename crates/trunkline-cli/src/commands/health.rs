//! `trunkline health`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout_at};
use trunkline::client::Http;
use trunkline::client::http::{HttpClientConfig, Roots, Url};

use super::connection::{TIMEOUT_RANGE, URL};
use crate::config::{ConfigArgs, milliseconds};
use crate::server::network::Listeners;
use crate::terminal::{line, output, redacted, refuses_certificate};

/// Check whether a server works, for probes of containers
///
/// Without URL, checks the server that the flags, variables and configuration file of `trunkline serve` describe: at
/// its --health-listen, or else at its --listen. If that uses TLS, the server must present the certificate of --tls-cert,
/// whatever its names. No shell and no token is needed. Prints one line.
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
    #[arg(long, hide = true, env = "TRUNKLINE_TLS_CERT", hide_env = true)]
    tls_cert: Option<PathBuf>,
}

/// The server that is checked.
struct Target {
    url: Url,
    /// The certificate that the server must present, instead of one of its name.
    certificate: Option<PathBuf>,
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

/// The time between two checks of a server whose certificate is being replaced.
const RETRY: Duration = Duration::from_millis(250);

/// Prints the state of the server.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let target = arguments.target()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let limit = Duration::from_millis(arguments.timeout_ms);
    let checked = runtime.block_on(target.check_until(limit));
    // A name lookup may still be running.
    runtime.shutdown_background();
    let url = &target.url;
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
    fn target(&self) -> anyhow::Result<Target> {
        let path = if self.live { "/health/live" } else { "/health/ready" };
        if let Some(url) = &self.url {
            return Ok(Target { url: url.clone().or_path(path), certificate: None });
        }
        let probes = self.listeners.probes();
        let calls = self.listeners.calls();
        let address = probes.unwrap_or(&calls);
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
        let certificate = self.tls_cert.clone().filter(|_| probes.is_none());
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}{path}").parse();
        let url = url.with_context(|| format!("invalid address {address}"))?;
        Ok(Target { url, certificate })
    }
}

impl Target {
    /// Returns the status of the page. Meanwhile, the server may read a replaced certificate.
    async fn check_until(&self, limit: Duration) -> anyhow::Result<String> {
        let deadline = Instant::now() + limit;
        loop {
            let checked = timeout_at(deadline, self.check(limit)).await;
            let Ok(checked) = checked else { bail!("no answer within {} ms", limit.as_millis()) };
            match (&self.certificate, &checked) {
                (Some(certificate), Err(error)) if is_certificate_refused(error) => {
                    ensure!(
                        Instant::now() + RETRY < deadline,
                        "the server presents another certificate than {}; give the URL of the server",
                        certificate.display()
                    );
                }
                _ => return checked,
            }
            sleep(RETRY).await;
        }
    }

    /// Returns the status of the page. An error is one that the page reports, or that it cannot be read.
    async fn check(&self, limit: Duration) -> anyhow::Result<String> {
        let config = HttpClientConfig {
            max_reply: MAX_PAGE,
            connect_timeout: limit,
            ..HttpClientConfig::default()
        };
        let http = match &self.certificate {
            None => Http::with_config(self.url.clone(), config)?,
            Some(path) => Http::with_roots(self.url.clone(), config, &own_certificate(path)?)?,
        };
        let mut reply = http.get(HeaderMap::new()).await?;
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await? {
            body.extend_from_slice(&part);
        }
        describe(reply.status, &body)
    }
}

fn is_certificate_refused(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(refuses_certificate)
}

/// The certificate that the server reads from this file.
fn own_certificate(path: &Path) -> anyhow::Result<Roots> {
    let pem = std::fs::read(path).map_err(anyhow::Error::from);
    let roots = pem.and_then(|pem| Ok(Roots::of_server(&pem)?));
    roots.with_context(|| format!("cannot read the certificate {}", path.display()))
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
