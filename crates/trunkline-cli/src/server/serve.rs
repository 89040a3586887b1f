//! `trunkline serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use trunkline::http::{self, HttpService};
use trunkline::layers::metrics;
use trunkline::layers::rate_limit::Rate;
use trunkline::server::{self, Drained, Health, Problem, Problems, Server, ServerHandle, Tls};
use trunkline::{CancellationToken, Rpc};
use trunkline_agent::conversation::Conversations;
use trunkline_resources::Resources;

use super::access::{self, Access, entries};
use super::database::{self, Opened, Source};
use super::history::Recorder;
use super::service::{self, Service};
use super::started::{self, Started};
use super::{agent, command_tools, history, limits, records};
use crate::terminal::output;

#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    records: records::Arguments,
    #[command(flatten)]
    tools: command_tools::Folder,
    #[command(flatten)]
    agent: agent::Asked,
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "TRUNKLINE_LISTEN")]
    listen: String,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    history: history::Kept,
    /// Maximum calls per second of each caller, by its token or address; more are refused (HTTP 429). Bursts
    /// may have twice as many. No limit by default. Each call of a served method counts, also as a tool or
    /// as a member of a batch; unknown methods, lists of tools and wrong tokens do not.
    #[arg(
        long,
        value_name = "CALLS",
        env = "TRUNKLINE_RATE_LIMIT",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=1_000_000)
    )]
    rate_limit: Option<u32>,
    /// Serve https: the server's certificate and those that lead to a root, as PEM. A file that is
    /// replaced is used within a minute, and connections stay open. Needs --tls-key.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key that belongs to --tls-cert, as PEM.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A name that clients may call this server, besides localhost and its address; without a
    /// port. Repeats, or several with commas between them.
    #[arg(long, value_name = "HOST", env = "TRUNKLINE_ALLOW_HOST", value_delimiter = ',')]
    allow_host: Vec<String>,
    /// An origin whose web pages may call and read the replies, like `https://app.example.com`; `*`
    /// is any. Repeats, or several with commas between them.
    #[arg(long, value_name = "ORIGIN", env = "TRUNKLINE_ALLOW_ORIGIN", value_delimiter = ',')]
    allow_origin: Vec<String>,
    /// The most bytes that a request's body may have.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        env = "TRUNKLINE_MAX_BODY",
        value_parser = RangedU64ValueParser::<usize>::new().range(64..=1 << 30)
    )]
    max_body: usize,
    #[command(flatten)]
    memory: limits::Memory,
}

/// Serves until SIGINT or SIGTERM, and answers what runs before it ends, unless there is a second one.
pub(crate) fn run(arguments: &Serve) -> anyhow::Result<()> {
    limits::return_freed_memory();
    limits::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Tasks between two looks for new requests: with 61, which is the default, a request waits for as
        // many calls, however long they take.
        .event_interval(16)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let drained = runtime.block_on(serve(arguments));
    // What a second signal has cut off may still run; nobody waits for it.
    runtime.shutdown_background();
    let drained = drained?;
    if !drained.is_complete() {
        bail!("{} requests were cut off: they did not end within the drain timeout", drained.cut);
    }
    Ok(())
}

async fn serve(arguments: &Serve) -> anyhow::Result<Drained> {
    limits::outlive_file_size().context("cannot wait for signals")?;
    let mut http = http_settings(arguments)?;
    let addresses = resolve(&arguments.listen).await?;
    let agent_rules = access::agent_rules(&arguments.access)?;
    let readers = access::readers(&arguments.access)?;
    let is_guarded = access::guard(&arguments.access, &mut http).await?;
    if !is_guarded {
        refuse_open_address(&arguments.listen, &addresses)?;
    }
    let tls = tls(arguments)?;
    let is_https = tls.is_some();
    let declared = records::declared(&arguments.records)?;
    let history = arguments.history.history()?;
    let Opened { path, database, done } = database::open(&arguments.source)?;
    let place = arguments.tools.place();
    let tools = place.as_ref().map(|place| place.operations.clone());
    let memory = arguments.memory.budget();
    if arguments.max_body > memory.limit() / 2 {
        bail!(
            "--max-body is {}, more than half of --max-memory, which is {}: lower it, or raise --max-memory",
            arguments.max_body,
            memory.limit()
        );
    }
    let mut served = Service { database, records: None, tools, history, memory };
    let mut recorder = None;
    let mut conversations = None;
    let closing = CancellationToken::new();
    let begun = async {
        let records = served.records.insert(declared.open()?).clone();
        if let Some(history) = served.history.clone() {
            let kept = arguments.history.recorder(history, &records.directory, readers)?;
            recorder = Some(kept);
        }
        let rules = access::rules(&arguments.access, &served.beginnings())?;
        let mcp = served.guarded(rules, rate(arguments))?;
        let rpc = mcp.rpc();
        let tools = place.as_ref().map(|place| place.fill(&rpc)).transpose()?;
        let history = served.history.as_ref();
        let kept = conversations.insert(agent::conversations(&records.directory)?).clone();
        let problems = problems(&served, &kept, recorder.as_ref());
        let guard = |router| service::guarded(router, agent_rules, rate(arguments));
        let agent = arguments.agent.agent(&rpc, tools.as_ref(), kept, &served.beginnings())?;
        let api = agent::api(&agent, tools.as_ref(), history, &served.memory, guard)?;
        let service = || {
            let service = rpc
                .http_with(http.clone())
                .merge(mcp.routes())
                .merge(mcp.sse_routes(closing.clone()))
                .merge(trunkline_resources::routes(&rpc, &records.resources))
                .merge(trunkline_agent::routes(&api))
                .merge(rpc.openrpc_routes())
                .merge(metrics::routes(&rpc));
            let service = match &tools {
                Some(_) => service.merge(trunkline_tools::routes(&api)),
                None => service,
            };
            match &recorder {
                Some(recorder) => recorder.show(service, &closing),
                None => service,
            }
        };
        let shutdown = server::shutdown_signal().context("cannot wait for signals")?;
        let server = start(&addresses, tls, server_settings(problems), service).await?;
        anyhow::Ok((rpc, records, tools, shutdown, server))
    };
    let begun = begun.await;
    // What is not closed may leave its log behind.
    let (rpc, records, tools, shutdown, server) =
        begun.inspect_err(|_| close(&served, conversations.as_ref(), recorder.as_ref()))?;
    done.iter().for_each(|done| output::note(done));
    started::print(&Started {
        database: &path,
        writable: arguments.source.writable,
        address: server.local_addr(),
        methods: &methods_beside(&records.resources, &rpc),
        records: &records,
        token_needed: is_guarded,
        is_https,
        tools: tools.as_ref(),
        recorder: recorder.as_ref(),
    });
    shutdown.await;
    closing.cancel();
    tracing::info!(status = ?server.status(), "stopping");
    let again = server::shutdown_signal().context("cannot wait for signals")?;
    let drained = tokio::select! {
        drained = server.stop() => drained,
        () = again => {
            bail!("{} requests were cut off by a second signal", server.status().in_flight)
        }
    };
    if let Some(tools) = &tools {
        command_tools::end(tools).await;
    }
    close(&served, conversations.as_ref(), recorder.as_ref());
    Ok(drained)
}

fn close(served: &Service, conversations: Option<&Conversations>, recorder: Option<&Recorder>) {
    /// The log is behind its calls by less, and so are conversations.
    const WRITING: Duration = Duration::from_secs(5);
    tokio::task::block_in_place(|| {
        served.close();
        if conversations.is_some_and(|conversations| !conversations.close(WRITING)) {
            tracing::warn!("the conversations could not be closed in time");
        }
        if let Some(recorder) = recorder {
            recorder.close(WRITING);
        }
    });
}

/// The addresses of a name. They are looked up once: asked again, a name server may answer with one
/// that nobody has checked.
async fn resolve(listen: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let addresses = tokio::net::lookup_host(listen).await;
    let addresses =
        addresses.with_context(|| format!("{listen} is not an address like 127.0.0.1:8080"))?;
    Ok(addresses.collect())
}

/// Without a token, nothing but this machine may reach the calls.
fn refuse_open_address(listen: &str, addresses: &[SocketAddr]) -> anyhow::Result<()> {
    if addresses.iter().any(|address| !address.ip().is_loopback()) {
        bail!(
            "refused to listen on {listen}: other machines could reach it, and no token is needed to call; \
             set TRUNKLINE_BEARER or --jwks, or listen on 127.0.0.1"
        );
    }
    Ok(())
}

/// Starts the server on the first of the addresses that can be bound.
async fn start(
    addresses: &[SocketAddr],
    tls: Option<Tls>,
    settings: server::ServerConfig,
    service: impl Fn() -> HttpService,
) -> anyhow::Result<ServerHandle> {
    let server = |address: &SocketAddr| {
        let server = Server::bind(address).settings(settings.clone());
        match &tls {
            Some(tls) => server.tls(tls.clone()),
            None => server,
        }
    };
    let (last, others) = addresses.split_last().context("the address to listen on has no IP")?;
    for address in others {
        match server(address).serve(service()).await {
            Ok(server) => return Ok(server),
            Err(error) => tracing::debug!(%address, %error, "the next address is tried"),
        }
    }
    Ok(server(last).serve(service()).await?)
}

fn tls(arguments: &Serve) -> anyhow::Result<Option<Tls>> {
    match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            Ok(Some(Tls::open(certificate, key).context("https cannot be served")?))
        }
        _ => Ok(None),
    }
}

fn rate(arguments: &Serve) -> Option<Rate> {
    let calls = arguments.rate_limit?;
    Some(Rate { calls, burst: calls.saturating_mul(2), ..Rate::default() })
}

fn http_settings(arguments: &Serve) -> anyhow::Result<http::HttpConfig> {
    let paths = ["/", "/rpc", "/jsonrpc"].map(str::to_owned).to_vec();
    let max_body = arguments.max_body;
    let headers = http::security_headers();
    let mut settings =
        http::HttpConfig { paths, max_body, headers, request_ids: true, ..Default::default() };
    for host in entries(&arguments.allow_host) {
        let parsed = host.parse::<http::Host>();
        settings.hosts.allow(parsed.with_context(|| format!("--allow-host {host} allows nobody"))?);
    }
    for origin in entries(&arguments.allow_origin) {
        let parsed = origin.parse::<http::Origin>();
        let parsed = parsed.with_context(|| format!("--allow-origin {origin} allows nobody"))?;
        settings.cors_origins.push(parsed.into());
    }
    Ok(settings)
}

/// The components of which the last use has failed.
fn problems(
    served: &Service,
    conversations: &Conversations,
    recorder: Option<&Recorder>,
) -> Problems {
    let (database, conversations) = (served.database.clone(), conversations.clone());
    let records = served.records.as_ref().map(|records| records.resources.clone());
    let recorder = recorder.cloned();
    Problems::new(move || {
        let found = [
            ("database", database.problem()),
            ("records", records.as_ref().and_then(Resources::problem)),
            ("conversations", conversations.problem()),
            ("log", recorder.as_ref().and_then(Recorder::problem)),
        ];
        let problem = |(component, reason): (_, Option<_>)| {
            reason.map(|reason| Problem { component, reason })
        };
        found.into_iter().filter_map(problem).collect()
    })
}

fn server_settings(problems: Problems) -> server::ServerConfig {
    let health = Health {
        path: "/health".to_owned(),
        service: "trunkline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    server::ServerConfig { health: Some(health), problems, ..Default::default() }
}

/// The names of all methods but those of resources, which are eight of each.
fn methods_beside(resources: &Resources, rpc: &Rpc) -> Vec<String> {
    let is_of_resource = |name: &&str| {
        let resource = name.rsplit_once('.').map(|(resource, _)| resource);
        resource.is_some_and(|resource| resources.types().get(resource).is_some())
    };
    let operations = rpc.operations();
    let names = operations.iter().map(|operation| operation.name());
    names.filter(|name| !is_of_resource(name)).map(str::to_owned).collect()
}
