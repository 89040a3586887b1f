//! `trunkline serve`.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use trunkline::history::endpoint::Readers;
use trunkline::http;
use trunkline::layers::audit::AuditLog;
use trunkline::layers::authorize::SharedRules;
use trunkline::layers::metrics;
use trunkline::layers::rate_limit::Rate;
use trunkline::server::{self, DrainMode, Drained, Health, Problem, Problems, Readiness};
use trunkline::{CancellationToken, DynamicOperations};
use trunkline_agent::conversation::Conversations;
use trunkline_resources::Resources;
use trunkline_sql::Databases;

use super::access::{self, Access, SignedKeys, entries};
use super::console::ConsoleSetup;
use super::database::{DatabaseArgs, QueryLimits};
use super::gauges::Gauges;
use super::history::Recorder;
use super::records::DeclaredRecords;
use super::reload::{self, Live, LiveSettings, ReloadState, Reloader};
use super::service::{self, Service};
use super::shared_state::SharedState;
use super::summary::{self, Components, Summary};
use super::{
    agent, audit, command_tools, console, gateway, history, limits, listener, readiness, records,
    roles, service_manager, tls,
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
    network: Network,
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
    limits: RequestLimits,
    #[command(flatten)]
    memory: limits::Memory,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

/// Reads the arguments and the configuration again.
type Reread = fn() -> anyhow::Result<(Box<Serve>, Config)>;

impl Serve {
    /// The positional argument.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.database.file()
    }

    /// The settings that a reload applies.
    fn live_settings(self, config: &Config) -> anyhow::Result<LiveSettings> {
        self.check_roles(config)?;
        let http = self.http_settings()?;
        let (default_rate, redaction) = (self.default_rate(), self.history.redaction());
        Ok(LiveSettings { access: self.access, tls: self.tls, http, default_rate, redaction })
    }

    /// The configuration of HTTP, without tokens.
    pub(super) fn http_settings(&self) -> anyhow::Result<http::HttpConfig> {
        let mut settings = http::HttpConfig {
            paths: summary::PATHS.map(str::to_owned).to_vec(),
            html_routes: true,
            max_body: self.limits.max_body,
            headers: http::security_headers(),
            request_ids: true,
            ..Default::default()
        };
        for host in entries(&self.network.allow_host) {
            let parsed = host.parse::<http::Host>();
            settings.hosts.allow(parsed.with_context(|| format!("invalid --allow-host {host}"))?);
        }
        for origin in entries(&self.network.allow_origin) {
            let parsed = origin.parse::<http::Origin>();
            let parsed = parsed.with_context(|| format!("invalid --allow-origin {origin}"))?;
            settings.cors_origins.push(parsed.into());
        }
        if !self.access.requires_token() {
            refuse_any_origin(&self.network)?;
        }
        Ok(settings)
    }

    /// The rate limit of callers whose roles have none.
    pub(super) fn default_rate(&self) -> Option<Rate> {
        self.limits.rate_limit.map(roles::rate)
    }

    /// Checks what roles refer to.
    pub(crate) fn check_roles(&self, config: &Config) -> anyhow::Result<()> {
        if config.roles().is_empty() {
            return Ok(());
        }
        let has_upstreams = self.upstreams.are_given(config);
        let databases = self.database.requested(config, has_upstreams)?;
        let names: Vec<_> = databases.into_iter().map(|database| database.name).collect();
        Ok(roles::check(config, &names, self.access.accepts_signed())?)
    }

    /// The address to listen on, and its IP addresses, which other machines cannot reach without a token.
    pub(super) async fn checked_addresses(&self) -> anyhow::Result<(String, Vec<SocketAddr>)> {
        let listen = self.network.address();
        let addresses = resolve(&listen).await?;
        if !self.access.requires_token() {
            refuse_open_address(&listen, &addresses)?;
        }
        Ok((listen, addresses))
    }
}

/// The flags of addresses.
#[derive(Args)]
#[command(next_help_heading = "Network")]
struct Network {
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

impl Network {
    fn address(&self) -> String {
        self.port.map_or_else(|| self.listen.clone(), |port| format!("127.0.0.1:{port}"))
    }
}

/// The flags of limits of requests.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct RequestLimits {
    /// Maximum calls per second of each caller [default: no limit]
    ///
    /// A caller is a token or an address. More calls are refused with 429; bursts may have twice as many. Each call
    /// of a served method counts, also as a tool or in a batch; unknown methods, lists of tools and invalid tokens do
    /// not.
    #[arg(
        long,
        value_name = "CALLS",
        env = "TRUNKLINE_RATE_LIMIT",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=1_000_000)
    )]
    rate_limit: Option<u32>,
    /// Maximum size of a request body in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        env = "TRUNKLINE_MAX_BODY",
        value_parser = RangedU64ValueParser::<usize>::new().range(64..=1 << 30)
    )]
    max_body: usize,
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
    arguments.check_roles(config)?;
    let mut http = arguments.http_settings()?;
    let (_, addresses) = arguments.checked_addresses().await?;
    let rules = access::rules(&arguments.access, config, arguments.default_rate())?;
    let rules = SharedRules::from(rules);
    let readers = Readers::Shared(rules.clone());
    let (mut reloads, reload_endpoint) = reload::triggers(&rules)?;
    let reload_state = ReloadState::new();
    let keys = access::guard(&arguments.access, &mut http, &SignedKeys::default()).await?;
    let tls = arguments.tls.open()?;
    let is_https = tls.is_some();
    let console = arguments.console.console(&addresses, &http, is_https);
    let has_records = arguments.records.are_on() || arguments.database.is_sample();
    let location = arguments.records.location()?;
    let declared = has_records.then(|| arguments.records.declared(&location)).transpose()?;
    let names = declared.as_ref().map(DeclaredRecords::names).unwrap_or_default();
    let gateway =
        arguments.upstreams.gateway(config, Some(arguments.records.data_dir()), &names)?;
    let history = arguments.history.history()?;
    let audit = arguments.audit.open()?;
    let opened = arguments.database.open(&arguments.query_limits, config, gateway.is_some());
    let opened = opened.await?;
    let command_tools = arguments.tools.command_tools();
    let tools = command_tools.as_ref().map(|tools| tools.operations.clone());
    let memory = arguments.memory.budget();
    let max_body = arguments.limits.max_body;
    if max_body > memory.limit() / 2 {
        bail!(
            "--max-body is {max_body}, more than half of --max-memory, which is {}: lower it, or raise --max-memory",
            memory.limit()
        );
    }
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
        confirm_destructive: arguments.tools.confirm_destructive,
        audit,
        nodes: SharedState::open(&location).await?,
        closing: closing.clone(),
    };
    let mut recorder = None;
    let mut conversations = None;
    let started = async {
        served.records = declared.map(DeclaredRecords::open).transpose()?;
        let data_dir = arguments.records.data_dir();
        if let Some(history) = served.history.clone() {
            recorder = Some(arguments.history.recorder(history, data_dir, readers)?);
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
        let problems = problems(&served, &stored, recorder.as_ref(), &reload_state);
        let readiness = readiness::checks(&served, &stored);
        let gauges = Gauges::new(&served, &mcp, &problems, &reload_state);
        let guard = |router| service::guarded(router, &rules);
        let agent = arguments.agent.agent(&rpc, tools.as_ref(), stored, &served.prefixes())?;
        let api = agent::api(&agent, tools.as_ref(), history, &served.memory, guard)?;
        let names = served.operation_names([&rpc, &api]);
        access::check_patterns(&arguments.access, config, &names)?;
        let pages = console.as_ref().map_or_else(Vec::new, |console| {
            console.routes(console::Parts {
                rpc: &rpc,
                agent: &api,
                model,
                served: &served,
                history: recorder.as_ref().map(Recorder::access),
                problems: &problems,
                limits: described_limits(arguments, &served),
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
            is_https,
        });
        let service = || {
            let service = rpc
                .http_with(http.clone())
                .merge(mcp.routes())
                .merge(mcp.sse_routes())
                .merge(console::with_sessions(console.as_ref(), trunkline_agent::routes(&api)))
                .merge(rpc.openrpc_routes())
                .merge(metrics::routes_with(&rpc, {
                    let gauges = gauges.clone();
                    move |metrics| gauges.add(metrics)
                }))
                .merge(reload::routes(&reload_endpoint))
                .merge(summary.clone().routes());
            let service = match &served.databases {
                Some(databases) => {
                    let routes = trunkline_sql::routes(&rpc, databases, service::DATABASES);
                    service.merge(console::with_sessions(console.as_ref(), routes))
                }
                None => service,
            };
            let service = match &served.records {
                Some(records) => {
                    service.merge(trunkline_resources::routes(&rpc, &records.resources))
                }
                None => service.merge(records::disabled_routes()),
            };
            let service = match &tools {
                Some(_) => service.merge(trunkline_tools::routes(&api)),
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
            queries: served.replaceable_queries.clone().unwrap_or_default(),
            requires_token: arguments.access.requires_token(),
            file: config.path().map(Path::to_owned),
            max_body: served.memory.limit() / 2,
        };
        let snapshot = config.snapshot();
        let reread = move || {
            let (serve, config) = reread()?;
            Ok((serve.live_settings(&config)?, config))
        };
        let state = reload_state.clone();
        let reloader = Reloader { reread: Box::new(reread), live, snapshot, state };
        anyhow::Ok((summary, tools, (shutdown, reloader), (server, mcp, drain_timeout)))
    };
    let started = started.await;
    // A database that is not closed may keep its write-ahead log.
    let (summary, tools, (shutdown, mut reloader), (server, mcp, drain_timeout)) =
        started.inspect_err(|_| close(&served, conversations.as_ref(), recorder.as_ref()))?;
    let served_databases = opened.iter().flat_map(|opened| &opened.served);
    for preparation in served_databases.filter_map(|served| served.preparation.as_ref()) {
        output::note(preparation);
    }
    let address = server.local_addr().to_string();
    output::note(&summary.banner(&address));
    service_manager::ready(&address);
    tokio::select! {
        () = shutdown => {}
        () = reloader.run(&mut reloads) => {}
    }
    service_manager::stopping();
    closing.cancel();
    tracing::info!(in_flight = server.status().in_flight, "stopping");
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
        let stopped = tokio::join!(server.stop(), mcp.stop(drain_timeout));
        mcp.leave_nodes().await;
        stopped
    };
    let drained = tokio::select! {
        (drained, dropped) = stopped => {
            if dropped > 0 {
                tracing::warn!(dropped, "calls of disconnected clients did not end within the drain timeout");
            }
            drained
        }
        () = second => {
            bail!("a second signal aborted {} requests", server.status().in_flight)
        }
    };
    if let Some(tools) = &tools {
        command_tools::end(tools).await;
    }
    if let Some(gateway) = &served.gateway {
        gateway::stop(gateway).await;
    }
    close(&served, conversations.as_ref(), recorder.as_ref());
    Ok(drained)
}

fn close(served: &Service, conversations: Option<&Conversations>, recorder: Option<&Recorder>) {
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

/// The addresses of a name. They are looked up once: a second lookup may return an address that was not checked.
async fn resolve(listen: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let addresses = tokio::net::lookup_host(listen).await;
    let addresses = addresses.with_context(|| {
        format!("cannot look up {listen}; the format is HOST:PORT, like 127.0.0.1:8080")
    })?;
    Ok(addresses.collect())
}

/// Without a token, the server listens only on addresses that other machines cannot reach.
fn refuse_open_address(listen: &str, addresses: &[SocketAddr]) -> anyhow::Result<()> {
    if addresses.iter().any(|address| !address.ip().is_loopback()) {
        bail!(
            "refused to listen on {listen}: other machines can reach it, and no token is required; \
             set TRUNKLINE_BEARER or --jwks, or listen on 127.0.0.1"
        );
    }
    Ok(())
}

/// Without a token, pages of any web site in a browser of this machine could call the server.
fn refuse_any_origin(network: &Network) -> anyhow::Result<()> {
    if entries(&network.allow_origin).any(|origin| origin == "*") {
        bail!(
            "refused --allow-origin *: pages of any web site could call the server, and no token is required; set \
             TRUNKLINE_BEARER or --jwks, or list the origins"
        );
    }
    Ok(())
}

/// The limits, for the console.
fn described_limits(arguments: &Serve, served: &Service) -> Vec<(String, String)> {
    let RequestLimits { rate_limit, max_body } = arguments.limits;
    let rate = rate_limit.map_or_else(|| "none".to_owned(), |calls| format!("{calls} calls/s"));
    let memory = format!("{} MiB", served.memory.limit() >> 20);
    let requests = [
        ("Calls per user", rate),
        ("Request body", format!("{} KiB", max_body >> 10)),
        ("Memory of requests", memory),
    ];
    let requests = requests.map(|(name, value)| (name.to_owned(), value));
    requests.into_iter().chain(arguments.query_limits.described()).collect()
}

/// The components whose last use failed.
fn problems(
    served: &Service,
    conversations: &Conversations,
    recorder: Option<&Recorder>,
    reloads: &ReloadState,
) -> Problems {
    let (databases, conversations) = (served.databases.clone(), conversations.clone());
    let records = served.records.as_ref().map(|records| records.resources.clone());
    let (recorder, audit) = (recorder.cloned(), served.audit.clone());
    let (nodes, reloads) = (served.nodes.clone(), reloads.clone());
    Problems::new(move || {
        let found = [
            ("database", databases.as_ref().and_then(Databases::problem)),
            ("records", records.as_ref().and_then(Resources::problem)),
            ("conversations", conversations.problem()),
            ("audit_log", audit.as_ref().and_then(AuditLog::problem)),
            ("sessions", nodes.as_ref().and_then(SharedState::problem)),
            ("log", recorder.as_ref().and_then(Recorder::problem)),
            ("configuration", reloads.problem()),
        ];
        let problem = |(component, reason): (_, Option<_>)| {
            reason.map(|reason| Problem { component, reason })
        };
        found.into_iter().filter_map(problem).collect()
    })
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
