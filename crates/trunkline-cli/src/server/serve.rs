//! `trunkline serve`.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use tokio::task::JoinSet;
use trunkline::history::endpoint::Readers;
use trunkline::http;
use trunkline::layers::authorize::SharedRules;
use trunkline::layers::metrics;
use trunkline::layers::rate_limit::Rate;
use trunkline::server::{self, DrainMode, Drained, Health, Problems, Readiness};
use trunkline::{CancellationToken, DynamicOperations};

use super::access::{self, Access, SignedKeys};
use super::console::ConsoleSetup;
use super::database::{DatabaseArgs, QueryLimits};
use super::gauges::Gauges;
use super::history::Recorder;
use super::open_database::Requested;
use super::records::DeclaredRecords;
use super::reload::{self, Live, LiveSettings, ReloadState, Reloader};
use super::service::{self, Service};
use super::shared_state::SharedState;
use super::summary::{self, Components, Summary};
use super::{
    agent, audit, command_tools, console, gateway, history, limits, listener, network, probes,
    problems, readiness, records, roles, service_manager, shutdown, tls,
};
use crate::config::{Config, ConfigArgs};
use crate::telemetry::TelemetryArgs;
use crate::terminal::output;

/// The flags of `serve`.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(super) database: DatabaseArgs,
    #[command(flatten)]
    _config: ConfigArgs,
    #[command(flatten)]
    pub(super) records: records::RecordArgs,
    #[command(flatten)]
    tools: command_tools::CommandToolArgs,
    #[command(flatten)]
    pub(super) upstreams: gateway::UpstreamArgs,
    #[command(flatten)]
    pub(super) agent: agent::AgentArgs,
    #[command(flatten)]
    network: network::Network,
    #[command(flatten)]
    console: console::ConsoleArgs,
    #[command(flatten)]
    pub(super) access: Access,
    #[command(flatten)]
    pub(super) tls: tls::TlsArgs,
    #[command(flatten)]
    history: history::HistoryArgs,
    #[command(flatten)]
    audit: audit::AuditArgs,
    #[command(flatten)]
    pub(super) query_limits: QueryLimits,
    #[command(flatten)]
    limits: limits::RequestLimits,
    #[command(flatten)]
    memory: limits::Memory,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

/// The paths that users write in the settings of clients and scrapers, some of which add a slash. Others ignore no slash, since a proxy
/// may limit them by their exact path.
const SLASH_PATHS: [&str; 7] =
    ["/rpc", "/jsonrpc", "/mcp", "/sse", "/messages", "/api", "/metrics"];

/// Reads the arguments and the configuration again.
type Reread = fn() -> anyhow::Result<(Box<Serve>, Config)>;

impl Serve {
    /// The positional argument.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.database.file()
    }

    /// Sets the files of secrets, which are read again.
    pub(crate) fn set_secret_files(&mut self, config: &Config) {
        self.records.set_secret_files(config);
        self.telemetry.set_secret_files(config);
    }

    /// The settings that a reload applies.
    fn live_settings(self, config: &Config) -> anyhow::Result<LiveSettings> {
        self.check_names(config)?;
        if let Some(mistake) = self.mistakes().into_iter().next() {
            return Err(mistake);
        }
        let http = self.http_settings()?;
        let (default_rate, redaction) = (self.default_rate(), self.history.redaction());
        let (upstreams, model_key) = (self.upstreams.upstreams(config)?, self.agent.key()?);
        let (access, tls) = (self.access, self.tls);
        Ok(LiveSettings { access, tls, http, default_rate, redaction, upstreams, model_key })
    }

    /// The configuration of HTTP, without tokens.
    pub(super) fn http_settings(&self) -> anyhow::Result<http::HttpConfig> {
        let mut settings = http::HttpConfig {
            paths: summary::PATHS.map(str::to_owned).to_vec(),
            html_routes: true,
            slash_paths: SLASH_PATHS.map(str::to_owned).to_vec(),
            max_body: self.limits.max_body,
            headers: http::security_headers(),
            request_ids: true,
            ..Default::default()
        };
        self.network.configure(&mut settings, self.access.requires_token())?;
        Ok(settings)
    }

    /// The rate limit of callers whose roles have none.
    pub(super) fn default_rate(&self) -> Option<Rate> {
        self.limits.rate_limit.map(roles::rate)
    }

    /// The mistakes that can be found without the databases and servers that the settings name, and without their
    /// operations.
    pub(crate) fn mistakes(&self) -> Vec<anyhow::Error> {
        let checks = [
            self.http_settings().map(drop),
            self.network.check(self.access.requires_credentials(&self.tls)),
            access::check(&self.access),
            self.tls.check(),
            self.records.location().map(drop),
            self.agent.check(),
            self.limits.check(&self.memory.budget()),
            self.telemetry.check(),
        ];
        checks.into_iter().filter_map(Result::err).collect()
    }

    /// Checks what roles and saved queries refer to, and the roles of databases.
    pub(crate) fn check_names(&self, config: &Config) -> anyhow::Result<()> {
        let (accepts_signed, issuer) = (self.access.accepts_signed(), self.access.only_issuer());
        let (databases, certificates) = (self.databases(config)?, self.tls.accepts_certificates());
        Ok(roles::check(config, &databases, certificates, accepts_signed, issuer)?)
    }

    /// The databases to serve.
    pub(super) fn databases(&self, config: &Config) -> anyhow::Result<Vec<Requested>> {
        let mut databases = self.database.requested(config, self.upstreams.are_given(config))?;
        let issuer = self.access.only_issuer();
        databases.iter_mut().for_each(|database| database.issuer = issuer.map(str::to_owned));
        Ok(databases)
    }

    /// The address to listen on, and its IP addresses, which other machines cannot reach without a token.
    pub(super) async fn addresses(&self) -> anyhow::Result<(String, Vec<SocketAddr>)> {
        self.network.addresses(self.access.requires_credentials(&self.tls)).await
    }
}

/// Serves until SIGINT or SIGTERM, then finishes the calls that run. A second signal ends it at once.
///
/// `reread` reads the arguments and the configuration again.
pub(crate) fn run(arguments: &Serve, config: &Config, reread: Reread) -> anyhow::Result<()> {
    limits::return_freed_memory();
    config.log();
    limits::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // The number of tasks between two checks for new requests. With the default of 61, a request waits for as
        // many calls.
        .event_interval(16)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let drained = runtime.block_on(serve(arguments, config, reread));
    // After a second signal, calls may still run. They are abandoned.
    runtime.shutdown_background();
    let drained = drained?;
    if !drained.is_complete() {
        bail!("{} requests did not end within the drain timeout and were aborted", drained.aborted);
    }
    Ok(())
}

async fn serve(arguments: &Serve, config: &Config, reread: Reread) -> anyhow::Result<Drained> {
    limits::outlive_file_size().context("cannot wait for signals")?;
    service_manager::warn_of_sockets();
    arguments.check_names(config)?;
    let mut http = arguments.http_settings()?;
    let (_, addresses) = arguments.addresses().await?;
    let probe_addresses = arguments.network.probe_addresses().await?;
    let rules = access::rules(&arguments.access, config, arguments.default_rate())?;
    let rules = SharedRules::from(rules);
    let readers = Readers::Shared(rules.clone());
    let (mut reloads, reload_endpoint) = reload::triggers(&rules)?;
    let reload_state = ReloadState::new();
    let known = SignedKeys::default();
    let keys = access::guard(&arguments.access, &arguments.tls, &mut http, &known).await?;
    http.policy = Some(rules.policy());
    let tls = arguments.tls.open()?;
    let is_https = tls.is_some();
    let console = arguments.console.console(&addresses, &http, is_https);
    let has_records = arguments.records.are_on() || arguments.database.is_sample();
    let location = arguments.records.location()?;
    let declared = has_records.then(|| arguments.records.declared(&location)).transpose()?;
    let names = declared.as_ref().map(DeclaredRecords::names).unwrap_or_default();
    let gateway =
        arguments.upstreams.gateway(config, Some(&arguments.records.data_dir()), &names)?;
    let history = arguments.history.history()?;
    let audit = arguments.audit.open()?;
    let requested = arguments.databases(config)?;
    let opened = arguments.database.open(&arguments.query_limits, requested);
    let opened = opened.await?;
    let command_tools = arguments.tools.command_tools();
    let tools = command_tools.as_ref().map(|tools| tools.operations.clone());
    let memory = arguments.memory.budget();
    arguments.limits.check(&memory)?;
    let output_schemas = arguments.tools.output_schemas;
    let closing = CancellationToken::new();
    let mut served = Service {
        databases: opened.as_ref().map(|opened| opened.databases.clone()),
        are_databases_separate: opened.as_ref().is_some_and(|opened| opened.are_separate),
        queries: config.queries().to_vec(),
        replaceable_queries: Some(DynamicOperations::new()),
        records: None,
        tools,
        gateway,
        history,
        history_readers: arguments.history.history_resources.then(|| readers.clone()),
        memory,
        output_schemas,
        client_results: config.clients().clone(),
        max_tool_name: arguments.tools.max_tool_name,
        confirm_destructive: arguments.tools.confirm_destructive,
        confirm_after_cancel: arguments.tools.confirm_after_cancel,
        audit,
        nodes: SharedState::open(&location).await?,
        session_store: None,
        closing: closing.clone(),
    };
    let mut recorder = None;
    let mut conversations = None;
    let started = async {
        served.records = declared.map(DeclaredRecords::open).transpose()?;
        if has_records {
            served.session_store = records::session_store(&location)?;
        }
        let data_dir = arguments.records.data_dir();
        if let Some(history) = served.history.clone() {
            recorder = Some(arguments.history.recorder(history, &data_dir, readers)?);
        }
        let mcp = served.guarded(&rules).await?;
        served.watch_databases();
        let rpc = mcp.rpc();
        let tools = command_tools.as_ref().map(|tools| tools.load(&rpc)).transpose()?;
        if let Some(gateway) = &served.gateway {
            gateway::start(gateway).await;
        }
        let history = served.history.as_ref();
        let stored = conversations.insert(agent::conversations(&location)).clone();
        let model = arguments.agent.model_name();
        if has_records || model.is_some() {
            records::tolerate_faults("conversations", &location, stored.prepare())?;
        }
        let problems = problems::problems(&served, &stored, recorder.as_ref(), &reload_state);
        let readiness = readiness::checks(&served);
        let gauges = Gauges::new(&served, &mcp, &problems, &reload_state);
        let agent_tools = agent::AgentTools { rpc: &rpc, folder: tools.as_ref(), rules: &rules };
        let agent = arguments.agent.agent(agent_tools, stored, &served.prefixes())?;
        let api = agent::api(&agent, agent_tools, history, &served.memory)?;
        let names = served.operation_names([&rpc, &api]);
        access::check_patterns(&arguments.access, config, &names)?;
        let limits = arguments.limits.described(&served.memory).into_iter();
        let limits = limits.chain(arguments.query_limits.described()).collect();
        let pages = console.as_ref().map_or_else(Vec::new, |console| {
            console.routes(console::Parts {
                rpc: &rpc,
                agent: &api,
                model,
                served: &served,
                history: recorder.as_ref().map(Recorder::access),
                problems: &problems,
                limits,
                rules: &rules,
            })
        });
        let summary = Summary::new(&Components {
            databases: opened.as_ref().map_or(&[], |opened| &opened.served),
            gateway: served.gateway.as_ref(),
            records: served.records.as_ref(),
            tools: tools.as_ref(),
            model,
            recorder: recorder.as_ref(),
            has_console: console.is_some(),
            needs_token: arguments.access.requires_token(),
            accepts_certificates: arguments.tls.accepts_certificates(),
            is_https,
        });
        let service = || {
            let service = rpc
                .http_with(http.clone())
                .merge(mcp.routes())
                .merge(mcp.sse_routes())
                .merge(rpc.openrpc_routes())
                .merge(metrics::routes_with(&rpc, {
                    let gauges = gauges.clone();
                    move |metrics| gauges.add(metrics)
                }))
                .merge(reload::routes(&reload_endpoint))
                .merge(summary.clone().routes());
            let with_data =
                |service, routes| console::merged_with_data(service, routes, console.as_ref());
            let service = with_data(service, trunkline_agent::routes(&api));
            let service = match &served.databases {
                Some(databases) => {
                    with_data(service, trunkline_sql::routes(&rpc, databases, service::DATABASES))
                }
                None => service,
            };
            let service = match &served.records {
                Some(records) => service.merge(trunkline_records::routes(&rpc, &records.store)),
                None => service.merge(records::disabled_routes()),
            };
            let service = match &tools {
                Some(_) => service.merge(trunkline_command_tools::routes(&api)),
                None => service,
            };
            let service = console::merged(service, &pages);
            match &recorder {
                Some(recorder) => recorder.show(service, &closing, console.as_ref()),
                None => service,
            }
        };
        let shutdown = server::shutdown_signal().context("cannot wait for signals")?;
        let settings = server_settings(problems, readiness, served.nodes.is_some());
        let drain_timeout = settings.drain_timeout;
        let (server, service) = listener::start(&addresses, tls.clone(), settings, service).await?;
        gauges.set_server(&server);
        let probes = match &probe_addresses {
            Some(addresses) => Some(probes::start(addresses, &server, &rpc, &gauges).await?),
            None => None,
        };
        let live = Live {
            rules: rules.clone(),
            http: service,
            sessions: console.as_ref().and_then(ConsoleSetup::sessions),
            tls,
            keys,
            notifier: mcp.notifier(),
            names,
            history: served.history.clone(),
            databases: served.databases.clone(),
            gateway: served.gateway.clone(),
            model: agent.model().cloned(),
            queries: served.replaceable_queries.clone().unwrap_or_default(),
            requires_credentials: arguments.access.requires_credentials(&arguments.tls),
            file: config.path().map(Path::to_owned),
            max_body: served.memory.limit() / 2,
        };
        let snapshot = config.snapshot();
        let reread = move || {
            let (serve, config) = reread()?;
            Ok((serve.live_settings(&config)?, config))
        };
        let state = reload_state.clone();
        let files = config.watched().clone();
        let reloader = Reloader { reread: Box::new(reread), live, snapshot, state, files };
        anyhow::Ok((summary, tools, (shutdown, reloader), (server, probes, mcp, drain_timeout)))
    };
    let started = started.await;
    // A database that is not closed may keep its write-ahead log.
    let (summary, tools, (shutdown, mut reloader), (server, probes, mcp, drain_timeout)) = started
        .inspect_err(|_| shutdown::close(&served, conversations.as_ref(), recorder.as_ref()))?;
    let served_databases = opened.iter().flat_map(|opened| &opened.served);
    for preparation in served_databases.filter_map(|served| served.preparation.as_ref()) {
        output::note(preparation);
    }
    let address = server.local_addr().to_string();
    let probe_address = probes.as_ref().map(|probes| probes.local_addr().to_string());
    output::note(&summary.banner(&address, probe_address.as_deref()));
    service_manager::ready(&address);
    // Until the server has ended.
    let mut watchdog = JoinSet::new();
    watchdog.spawn(service_manager::watch());
    tokio::select! {
        () = shutdown => {}
        () = reloader.run(&mut reloads) => {}
    }
    // Requests that wait are answered, since the shutdown waits for them.
    drop(reloads);
    service_manager::stopping();
    closing.cancel();
    tracing::info!(in_flight = server.status().in_flight, "stopping");
    let drained = shutdown::drain(&server, &mcp, drain_timeout)
        .await
        .inspect_err(|_| shutdown::close_logs(&served, recorder.as_ref()))?;
    if let Some(probes) = probes {
        probes.stop().await;
    }
    if let Some(tools) = &tools {
        command_tools::end(tools).await;
    }
    if let Some(gateway) = &served.gateway {
        gateway::stop(gateway).await;
    }
    shutdown::close(&served, conversations.as_ref(), recorder.as_ref());
    Ok(drained)
}

fn server_settings(
    problems: Problems,
    readiness: Readiness,
    has_other_nodes: bool,
) -> server::ServerConfig {
    let health = Health {
        path: "/health".to_owned(),
        service: "trunkline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let drain_mode = match has_other_nodes {
        true => DrainMode::Close,
        false => DrainMode::Refuse,
    };
    server::ServerConfig {
        health: Some(health),
        problems,
        readiness,
        drain_mode,
        ..Default::default()
    }
}
