//! `--upstream` and `[upstreams.NAME]`: other MCP servers whose tools are served.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use trunkline_gateway::{Gateway, GatewayConfig, Target};

use super::command_tools;
use crate::config::{Config, Upstreams, upstream};
use crate::oauth;

/// The flag of upstream servers.
#[derive(Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct UpstreamArgs {
    /// MCP server whose tools are served, too: a URL or a command
    ///
    /// A tool is the method NAME.TOOL, and for language models the tool NAME__TOOL. NAME=COMMAND starts a command: a
    /// program and arguments, separated by blanks. Replaces the server of this name in trunkline.toml, where tokens and
    /// rules for tools can be set. Repeatable; the variable holds one server.
    #[arg(
        long = "upstream",
        value_name = "NAME=URL",
        env = "TRUNKLINE_UPSTREAM",
        hide_env_values = true
    )]
    upstreams: Vec<String>,
}

/// The file of approved tools in the data directory.
const APPROVALS: &str = "upstreams.json";

/// The maximum wait for the first tools before requests are served: some clients list tools only once.
const FIRST_TOOLS: Duration = Duration::from_secs(3);

/// The maximum time to end connections and processes.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The prefixes of other methods.
const RESERVED: [&str; 6] = ["agent", "db", "gateway", "history", "rpc", command_tools::NAMESPACE];

impl UpstreamArgs {
    /// Whether the command line or the file has upstreams.
    pub(super) fn are_given(&self, config: &Config) -> bool {
        !config.upstreams().is_empty() || self.upstreams.iter().any(|text| !text.is_empty())
    }

    /// A gateway to the upstreams of the command line and the file, which is not started. It keeps approvals of tools
    /// in `data_dir`, if there is one. `types` are the names of record types.
    pub(crate) fn gateway(
        &self,
        config: &Config,
        data_dir: Option<&Path>,
        types: &[String],
    ) -> anyhow::Result<Option<Gateway>> {
        let upstreams = self.upstreams(config)?;
        if upstreams.is_empty() {
            return Ok(None);
        }
        let is_type = |name: &str| {
            let has_prefix = |kind: &String| kind.split('.').next() == Some(name);
            types.iter().any(has_prefix)
        };
        if let Some(name) = upstreams.keys().find(|name| is_type(name.as_str())) {
            return Err(taken(name.as_str()));
        }
        let mut settings = GatewayConfig::default();
        settings.approvals = data_dir.map(|directory| directory.join(APPROVALS));
        // A reload may add a command.
        settings.supervisor = Some(command_tools::supervisor()?);
        protect(&upstreams);
        Ok(Some(Gateway::new(upstreams, settings)?))
    }

    /// The upstreams of the command line and the file.
    pub(super) fn upstreams(&self, config: &Config) -> anyhow::Result<Upstreams> {
        let mut upstreams = config.upstreams().clone();
        for text in self.upstreams.iter().filter(|text| !text.is_empty()) {
            let parsed = upstream(text);
            let (name, config) =
                parsed.map_err(|error| anyhow!("invalid --upstream {text}: {error}"))?;
            upstreams.insert(name, config);
        }
        if let Some(name) = upstreams.keys().find(|name| RESERVED.contains(&name.as_str())) {
            return Err(taken(name.as_str()));
        }
        for upstream in upstreams.values_mut() {
            if let Target::Http(target) = &mut upstream.target
                && target.bearer.is_none()
                && target.token_source.is_none()
            {
                target.authorization = oauth::earlier(&target.url.clone().or_path("/mcp"))?;
            }
        }
        Ok(upstreams)
    }
}

/// The error for a name of an upstream.
pub(super) fn taken(name: &str) -> anyhow::Error {
    anyhow!("the name of the upstream `{name}` is the prefix of other methods: choose another name")
}

/// Hides what the processes of upstreams must not read, if there are any.
pub(super) fn protect(upstreams: &Upstreams) {
    if upstreams.values().any(|upstream| matches!(upstream.target, Target::Command(_))) {
        command_tools::protect_from_children();
    }
}

/// Connects to the upstreams, and waits for their tools for a short time.
pub(crate) async fn start(gateway: &Gateway) {
    gateway.start();
    gateway.attempted(FIRST_TOOLS).await;
}

/// Ends the connections and processes.
pub(crate) async fn stop(gateway: &Gateway) {
    gateway.stop(STOP_TIMEOUT).await;
}
