//! `trunkline doctor`: whether a server with these settings could start and work.

use std::fs::{self, OpenOptions};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail, ensure};
use rustix::process::{Resource, getrlimit};
use trunkline_agent::model::Message;
use trunkline_gateway::UpstreamState;
use trunkline_mcp::McpConfig;
use trunkline_sql::inspection::{DatabaseHealth, HealthProblem};
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::Sessions;
use trunkline_sql::{CheckHealth, Database, Databases};

#[cfg(feature = "postgres")]
use trunkline_storage::Location;

use super::serve::Serve;
use super::{access, gateway};
use crate::config::{Config, Location as DatabaseLocation};
use crate::terminal::{line, output};

/// The maximum time of one check.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time until a model begins its answer: it may have to be loaded.
const MODEL_TIMEOUT: Duration = Duration::from_secs(60);

/// The connections that the server accepts by default, and files besides them.
const OPEN_FILES: u64 = 10_000 + 256;

/// Counts of the results, which are printed immediately.
#[derive(Default)]
struct Report {
    failures: usize,
    warnings: usize,
}

impl Report {
    fn ok(&mut self, subject: &str, finding: &str) {
        print("ok       ", subject, finding);
    }

    fn warning(&mut self, subject: &str, finding: &str) {
        self.warnings += 1;
        print("warning  ", subject, finding);
    }

    fn add(&mut self, subject: &str, result: anyhow::Result<String>) {
        match result {
            Ok(finding) => self.ok(subject, &finding),
            Err(error) => {
                self.failures += 1;
                print("failed   ", subject, &format!("{error:#}"));
            }
        }
    }
}

/// Prints a result on one line: its text may be that of a server or a database.
fn print(verdict: &str, subject: &str, finding: &str) {
    output::note(&format!("{verdict}{}: {}", line(subject), line(finding)));
}

/// Checks everything that a server with these settings uses, and prints the results. The exit code is 1 if a check
/// failed.
pub(crate) fn run(serve: &Serve, config: &Config) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let mut report = Report::default();
    runtime.block_on(check(serve, config, &mut report));
    runtime.shutdown_background();
    let Report { failures, warnings } = report;
    output::note(&format!("{failures} failed, {warnings} warnings"));
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check(serve: &Serve, config: &Config, report: &mut Report) {
    match config.path() {
        Some(path) => report.ok("configuration", &format!("{} is valid", path.display())),
        None => report.ok("configuration", "no trunkline.toml; using flags and defaults"),
    }
    for warning in config.warnings() {
        report.warning("configuration", warning);
    }
    report.add("clock", clock(SystemTime::now()));
    open_files(report);
    report.add("listen", listen(serve).await);
    if serve.tls.is_given() {
        report.add("tls", serve.tls.open().map(|_| "the certificate and its key are valid".into()));
    }
    report.add("access", access(serve).await);
    if let Err(error) = serve.telemetry.check() {
        report.add("telemetry", Err(error));
    }
    if !config.roles().is_empty() || !config.query_databases().is_empty() {
        report.add("names", serve.check_names(config).map(|()| "all names are known".to_owned()));
    }
    report.add("data directory", data_dir(&serve.records.data_dir()));
    store(serve, report).await;
    databases(serve, config, report).await;
    upstreams(serve, config, report).await;
    model(serve, report).await;
}

/// The store of `--store`, and the types of records.
#[cfg_attr(
    not(feature = "postgres"),
    expect(clippy::unused_async, reason = "only PostgreSQL needs it")
)]
async fn store(serve: &Serve, report: &mut Report) {
    let location = match serve.records.location() {
        Ok(location) => location,
        Err(error) => return report.add("store", Err(error)),
    };
    #[cfg(feature = "postgres")]
    if let Location::Postgres(postgres) = &location {
        let reached = async {
            let sessions = postgres.check().await?;
            Ok(format!("{location} can be reached; {sessions}"))
        };
        report.add("store", within(TIMEOUT, reached).await);
    }
    if serve.records.are_on() {
        let declared = serve.records.declared(&location);
        report.add("records", declared.map(|records| records.names().join(", ")));
    }
}

/// Tokens expire by the clock.
fn clock(now: SystemTime) -> anyhow::Result<String> {
    /// 2026-01-01.
    const EARLIEST: Duration = Duration::from_secs(1_767_225_600);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    ensure!(now > EARLIEST, "the time is before 2026: set it, or tokens are accepted too long");
    Ok("the time is plausible".to_owned())
}

async fn access(serve: &Serve) -> anyhow::Result<String> {
    let mut http = serve.http_settings()?;
    let known = access::SignedKeys::default();
    within(TIMEOUT, access::guard(&serve.access, &serve.tls, &mut http, &known)).await?;
    let needed = match (serve.access.requires_token(), serve.tls.accepts_certificates()) {
        (true, true) => "a token or a client certificate is required",
        (true, false) => "a token is required",
        (false, true) => "a client certificate is required",
        (false, false) => "no token is required, from this machine only",
    };
    Ok(needed.to_owned())
}

fn open_files(report: &mut Report) {
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if limit < OPEN_FILES => report.warning(
            "open files",
            &format!(
                "the limit is {limit}, and each connection needs one: raise it to {OPEN_FILES} (ulimit -n, or LimitNOFILE= of systemd)"
            ),
        ),
        Some(limit) => report.ok("open files", &format!("the limit is {limit}")),
        None => report.ok("open files", "unlimited"),
    }
}

async fn listen(serve: &Serve) -> anyhow::Result<String> {
    let (listen, addresses) = serve.addresses().await?;
    let bind = |address: &SocketAddr| TcpListener::bind(address).map(drop);
    let mut failed = None;
    for address in &addresses {
        match bind(address) {
            Ok(()) => return Ok(format!("{address} is free")),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(anyhow!(
            "cannot listen on {listen}: {error}; stop the other program, or choose another port with --port"
        )),
        None => bail!("{listen} has no IP address"),
    }
}

/// Whether the directory, or the one that it would be created in, can be written.
fn data_dir(path: &Path) -> anyhow::Result<String> {
    let existing = path.ancestors().find(|path| path.exists());
    let folder = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let probe = folder.join(format!(".trunkline-doctor-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&probe);
    written.with_context(|| {
        format!("cannot write to {}; give another directory with --data-dir", folder.display())
    })?;
    drop(fs::remove_file(&probe));
    let state = if path.exists() { "can be written" } else { "can be created" };
    Ok(format!("{} {state}", path.display()))
}

async fn databases(serve: &Serve, config: &Config, report: &mut Report) {
    let requested = match serve.databases(config) {
        Ok(requested) => requested,
        Err(error) => return report.add("databases", Err(error)),
    };
    let mut opened = Vec::with_capacity(requested.len());
    for requested in &requested {
        let subject = format!("database {}", requested.name);
        if let DatabaseLocation::File(path) = &requested.location
            && requested.may_create
            && !path.exists()
        {
            report.ok(&subject, &format!("{} is created at the start", path.display()));
            continue;
        }
        let database = serve.query_limits.open(requested);
        match within(TIMEOUT, database).await {
            Ok(database) => {
                health(&subject, &database, report).await;
                opened.push((requested.name.clone(), database));
            }
            Err(error) => report.add(&subject, Err(error)),
        }
    }
    if !opened.is_empty() && opened.len() == requested.len() {
        match serve.database.together(opened.clone()) {
            Err(error) => report.add("databases", Err(error)),
            Ok(databases) if !config.queries().is_empty() => {
                report.add("saved queries", queries(&databases, config).await);
            }
            Ok(_) => {}
        }
    }
    for (_, database) in opened {
        tokio::task::block_in_place(|| database.close(TIMEOUT));
    }
}

async fn health(subject: &str, database: &Database, report: &mut Report) {
    let health = database.database_health(CheckHealth {});
    let health = match within(TIMEOUT, async { Ok(health.await?) }).await {
        Ok(health) => health,
        Err(error) => return report.add(subject, Err(error)),
    };
    let access = if database.is_writable() { "writable" } else { "read-only" };
    let pooler = pooler(&health);
    report.ok(subject, &format!("{} {}, {access}{pooler}", health.engine, health.version));
    for warning in database.warnings() {
        report.warning(subject, &warning.replace('\n', " "));
    }
    match within(TIMEOUT, async { Ok(database.unmatched_rules().await?) }).await {
        Ok(rules) => rules.iter().for_each(|rule| report.warning(subject, &rule.to_string())),
        Err(error) => report.add(subject, Err(error)),
    }
    for HealthProblem { problem, remedy, .. } in &health.problems {
        report.warning(subject, &format!("{problem}; {remedy}"));
    }
}

/// The consequences of a connection pooler, if there is one.
#[cfg(feature = "postgres")]
fn pooler(health: &DatabaseHealth) -> String {
    let is_shared = health.postgres.as_ref().is_some_and(|health| health.sessions == "shared");
    if is_shared { format!("; {}", Sessions::Shared) } else { String::new() }
}

#[cfg(not(feature = "postgres"))]
fn pooler(_: &DatabaseHealth) -> &'static str {
    ""
}

async fn queries(databases: &Databases, config: &Config) -> anyhow::Result<String> {
    let queries = config.queries().to_vec();
    let count = queries.len();
    let compiled = trunkline_sql::saved_queries::<()>(databases, queries);
    within(TIMEOUT, async { Ok(compiled.await?) }).await?;
    Ok(format!("{count} can be run"))
}

/// The result of a check, or an error after the time.
async fn within<T>(
    time: Duration,
    check: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let checked = tokio::time::timeout(time, Box::pin(check)).await;
    checked.unwrap_or_else(|_| Err(anyhow!("no answer within {} s", time.as_secs())))
}

async fn upstreams(serve: &Serve, config: &Config, report: &mut Report) {
    let gateway = serve.upstreams.gateway(config, None, &[]);
    let gateway = match gateway {
        Ok(None) => return,
        Ok(Some(gateway)) => gateway,
        Err(error) => return report.add("upstreams", Err(error)),
    };
    gateway.start();
    gateway.attempted(TIMEOUT).await;
    let statuses = gateway.status();
    let (count, page) = (statuses.iter().map(|status| status.tools).sum::<usize>(), page_entries());
    if count > page {
        let finding = format!(
            "`tools/list` has more than one page, and most clients read only the first one, with {page} of {count} \
             tools: offer fewer of them, with `allow` or `deny`"
        );
        report.warning("upstreams", &finding);
    }
    for status in statuses {
        let subject = format!("upstream {}", status.name);
        let found = match status.state {
            UpstreamState::Ready => Ok(format!("{} tools of {}", status.tools, status.target)),
            _ => Err(match status.last_error {
                Some(error) => anyhow!("{}: {error}", status.target),
                None => anyhow!("{}: no answer within {} s", status.target, TIMEOUT.as_secs()),
            }),
        };
        report.add(&subject, found);
        for item in &status.rejected {
            report.warning(&subject, &format!("`{}` is not offered: {}", item.name, item.reason));
        }
    }
    gateway::stop(&gateway).await;
}

/// The number of tools in a page of `tools/list`.
fn page_entries() -> usize {
    McpConfig::new("", "").page_entries
}

async fn model(serve: &Serve, report: &mut Report) {
    let model = match serve.agent.model() {
        Ok(None) => return,
        Ok(Some(model)) => model,
        Err(error) => return report.add("model", Err(error)),
    };
    let messages = [Message::user("Reply with the word ok.")];
    let first = async { Ok(model.ask(&messages, &[]).await?.text().await?) };
    let answer = within(MODEL_TIMEOUT, first).await;
    report.add("model", answer.map(|_| format!("{} answers", model.name())));
}
