//! The addresses of the server, and the hosts and origins that it accepts.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use clap::Args;
use trunkline::http::{Host, HttpConfig, Origin};

use super::access::entries;

const FORMAT: &str = "the format is HOST:PORT, like 127.0.0.1:8080";

/// The flags of the addresses to listen on.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct Listeners {
    /// Address to listen on
    ///
    /// An address that other machines can reach requires a token.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "TRUNKLINE_LISTEN")]
    listen: String,
    /// Port to listen on, at 127.0.0.1
    ///
    /// Short for --listen 127.0.0.1:PORT. 0 is any free port.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Address for probes and metrics, without a token
    ///
    /// Serves /health, /health/live, /health/ready and /metrics, and nothing else, without a token, TLS and a check of
    /// the host name: for probes of Kubernetes and for Prometheus, which use the address of the pod. Metrics have the
    /// names of methods and databases: do not publish this port.
    #[arg(long, value_name = "ADDR", env = "TRUNKLINE_HEALTH_LISTEN")]
    health_listen: Option<String>,
}

/// The flags of the network.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(super) struct Network {
    #[command(flatten)]
    listeners: Listeners,
    /// Additional host name of this server, without a port
    ///
    /// Requests with another `Host` are refused, except localhost and the address. Repeatable or comma-separated.
    #[arg(long, value_name = "HOST", env = "TRUNKLINE_ALLOW_HOST", value_delimiter = ',')]
    allow_host: Vec<String>,
    /// Origin of web pages that may call; `*` for any
    ///
    /// Like `https://app.example.com`. Its pages may also read the replies (CORS). `*` requires a token. Repeatable or
    /// comma-separated.
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "TRUNKLINE_ALLOW_ORIGIN",
        hide_env_values = true,
        value_delimiter = ','
    )]
    allow_origin: Vec<String>,
}

impl Listeners {
    /// The address of calls.
    pub(crate) fn calls(&self) -> String {
        self.port.map_or_else(|| self.listen.clone(), |port| format!("127.0.0.1:{port}"))
    }

    /// The address of probes, if they have their own.
    pub(crate) fn probes(&self) -> Option<&str> {
        self.health_listen.as_deref()
    }
}

impl Network {
    /// Checks the addresses to listen on, without a lookup.
    pub(super) fn check(&self, requires_token: bool) -> anyhow::Result<()> {
        let listen = self.listeners.calls();
        check_format("--listen", &listen)?;
        if let Some(probes) = self.listeners.probes() {
            check_format("--health-listen", probes)?;
        }
        let address = listen.parse().ok();
        require_token(&listen, address.as_slice(), requires_token)
    }

    /// The IP addresses for probes. None if they use those of calls.
    pub(super) async fn probe_addresses(&self) -> anyhow::Result<Option<Vec<SocketAddr>>> {
        let Some(probes) = self.listeners.probes() else { return Ok(None) };
        resolve(probes).await.map(Some)
    }

    /// The address to listen on, and its IP addresses. Without a token, other machines cannot reach them.
    pub(super) async fn addresses(
        &self,
        requires_token: bool,
    ) -> anyhow::Result<(String, Vec<SocketAddr>)> {
        let listen = self.listeners.calls();
        let addresses = resolve(&listen).await?;
        require_token(&listen, &addresses, requires_token)?;
        Ok((listen, addresses))
    }

    /// Sets the accepted hosts and origins.
    pub(super) fn configure(
        &self,
        http: &mut HttpConfig,
        requires_token: bool,
    ) -> anyhow::Result<()> {
        for host in entries(&self.allow_host) {
            let parsed = host.parse::<Host>();
            http.hosts.allow(parsed.with_context(|| format!("invalid --allow-host {host}"))?);
        }
        for origin in entries(&self.allow_origin) {
            let parsed = origin.parse::<Origin>();
            let parsed = parsed.with_context(|| format!("invalid --allow-origin {origin}"))?;
            http.cors_origins.push(parsed.into());
        }
        // Pages of any web site in a browser of this machine could call the server.
        if !requires_token && entries(&self.allow_origin).any(|origin| origin == "*") {
            bail!(
                "refused --allow-origin *: pages of any web site could call the server, and no token is required; set \
                 TRUNKLINE_BEARER or --jwks, or list the origins"
            );
        }
        Ok(())
    }
}

fn check_format(flag: &str, address: &str) -> anyhow::Result<()> {
    let is_valid = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    ensure!(address.rsplit_once(':').is_some_and(is_valid), "invalid {flag} {address}: {FORMAT}");
    Ok(())
}

/// Refuses addresses that other machines can reach, unless a token is required.
fn require_token(
    listen: &str,
    addresses: &[SocketAddr],
    requires_token: bool,
) -> anyhow::Result<()> {
    ensure!(
        requires_token || addresses.iter().all(|address| address.ip().is_loopback()),
        "refused to listen on {listen}: other machines can reach it, and no token is required; \
         set TRUNKLINE_BEARER or --jwks, or listen on 127.0.0.1"
    );
    Ok(())
}

/// The addresses of a name. They are looked up once: a second lookup may return an address that was not checked.
async fn resolve(listen: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let addresses = tokio::net::lookup_host(listen).await;
    let addresses = addresses.with_context(|| format!("cannot look up {listen}; {FORMAT}"))?;
    Ok(addresses.collect())
}
