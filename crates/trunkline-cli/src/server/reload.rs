//! Reading the configuration again: SIGHUP, `POST /admin/reload`, and changes of files with secrets.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use axum::extract::State;
use axum::routing::post;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;
use trunkline::access::Principal;
use trunkline::client::http::Bearer;
use trunkline::history::{History, Redaction};
use trunkline::http::{Context, HttpConfig, HttpService, ReplyBody, Routes, respond};
use trunkline::layers::authorize::{Rules, SharedRules};
use trunkline::layers::metrics::Exposition;
use trunkline::layers::rate_limit::Rate;
use trunkline::protocol::Reply;
use trunkline::server::Tls;
use trunkline::{DynamicOperations, Router};
use trunkline_agent::model::Model;
use trunkline_console::Sessions;
use trunkline_gateway::{Gateway, UpstreamName};
use trunkline_mcp::Notifier;
use trunkline_sql::Databases;
use trunkline_sql::saved_query::SavedQuery;

use super::access::{self, Access, SignedKeys};
use super::operation_names::{OperationNames, RELOAD};
use super::tls::TlsArgs;
use super::{gateway, service_manager};
use crate::config::{Changes, Config, FileChange, Snapshot, Upstreams, WatchedFiles};
use crate::terminal::redacted;

/// The maximum time of the checks that wait for databases and for servers of keys.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// The interval of checks for changes of files with secrets.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The beginning of the keys of upstreams.
const UPSTREAM: &str = "upstreams.";

/// Reads the command line, the environment and the configuration file again.
pub(super) type Reread = Box<dyn Fn() -> anyhow::Result<(LiveSettings, Config)> + Send>;

/// The settings that a reload applies, besides those of the configuration file alone.
pub(super) struct LiveSettings {
    pub(super) access: Access,
    pub(super) tls: TlsArgs,
    /// Without tokens.
    pub(super) http: HttpConfig,
    pub(super) default_rate: Option<Rate>,
    pub(super) redaction: Redaction,
    pub(super) upstreams: Upstreams,
    pub(super) model_key: Option<Bearer>,
}

/// The parts of a running server that a reload changes.
pub(super) struct Live {
    pub(super) rules: SharedRules,
    pub(super) http: HttpService,
    pub(super) sessions: Option<Sessions>,
    pub(super) tls: Option<Tls>,
    pub(super) keys: SignedKeys,
    pub(super) notifier: Notifier,
    pub(super) names: OperationNames,
    pub(super) history: Option<History>,
    pub(super) databases: Option<Databases>,
    pub(super) gateway: Option<Gateway>,
    pub(super) model: Option<Model>,
    pub(super) queries: DynamicOperations,
    pub(super) requires_credentials: bool,
    /// The configuration file, if there is one.
    pub(super) file: Option<PathBuf>,
    /// The maximum of `server.limits.body`.
    pub(super) max_body: usize,
}

/// The state of the last reload, for `/health` and `/metrics`. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ReloadState(Arc<Outcomes>);

#[derive(Default)]
struct Outcomes {
    /// The time of the last reload that succeeded, or of the start, in seconds since 1970.
    succeeded_at: AtomicI64,
    failure: Mutex<Option<String>>,
}

/// A request of a reload, which the main task answers.
type Request = oneshot::Sender<Result<Reloaded, String>>;

/// The keys whose values changed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Reloaded {
    /// Those that are in use now.
    applied: Vec<String>,
    /// Those that are used after a restart.
    restart: Vec<String>,
}

/// The waiting requests, of signals and of callers.
pub(super) struct Triggers {
    hangup: Signal,
    requests: mpsc::Receiver<Request>,
    /// Whether stdin, stdout and stderr were terminals at the start.
    terminals: [bool; 3],
}

/// The endpoint.
#[derive(Clone)]
pub(super) struct Endpoint {
    requests: mpsc::Sender<Request>,
    rules: SharedRules,
}

/// A configuration that was read and checked.
struct Prepared {
    rules: Rules,
    http: HttpConfig,
    keys: SignedKeys,
    tls: Option<Tls>,
    /// `None` if they have not changed.
    queries: Option<Router>,
    names: OperationNames,
}

/// Handles SIGHUP from now on; by default, it ends the process.
pub(super) fn triggers(rules: &SharedRules) -> anyhow::Result<(Triggers, Endpoint)> {
    /// The maximum number of waiting requests. Further ones wait to be accepted.
    const WAITING: usize = 4;
    let hangup = signal(SignalKind::hangup()).context("cannot wait for signals")?;
    let (sender, requests) = mpsc::channel(WAITING);
    let endpoint = Endpoint { requests: sender, rules: rules.clone() };
    Ok((Triggers { hangup, requests, terminals: terminals() }, endpoint))
}

/// Whether stdin, stdout and stderr are terminals. A closed one is not.
fn terminals() -> [bool; 3] {
    [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()]
}

/// Reloads a running server.
pub(super) struct Reloader {
    pub(super) reread: Reread,
    pub(super) live: Live,
    /// The values that are in use.
    pub(super) snapshot: Snapshot,
    pub(super) state: ReloadState,
    /// The files of the configuration in use.
    pub(super) files: WatchedFiles,
}

impl Reloader {
    /// Handles requests until a terminal of the server is closed, which is also announced by SIGHUP. Dropping the
    /// future leaves the server consistent.
    pub(super) async fn run(&mut self, triggers: &mut Triggers) {
        let mut check = tokio::time::interval(FILE_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let request = tokio::select! {
                _ = triggers.hangup.recv() => {
                    // Streams that are redirected remain open.
                    if triggers.terminals != terminals() {
                        return;
                    }
                    None
                }
                Some(request) = triggers.requests.recv() => Some(request),
                _ = check.tick() => match self.has_changed_secrets() {
                    true => None,
                    false => continue,
                },
            };
            service_manager::reloading();
            let outcome = self.reload().await;
            service_manager::reloaded();
            let outcome = outcome.map_err(|error| redacted(&format!("{error:#}")).into_owned());
            self.state.set(outcome.as_ref().err());
            match &outcome {
                Ok(Reloaded { applied, restart }) => {
                    tracing::info!(applied = applied.join(", "), "configuration reloaded");
                    if !restart.is_empty() {
                        let keys = restart.join(", ");
                        tracing::warn!(keys, "changed settings require a restart");
                    }
                }
                Err(error) => {
                    tracing::error!("configuration not reloaded, nothing is changed: {error}");
                }
            }
            // The client may have disconnected.
            let _ = request.map(|request| request.send(outcome));
        }
    }

    /// Whether files with secrets have changed, such as a token that was rotated. If the configuration file has changed,
    /// too, the operator decides when it applies.
    fn has_changed_secrets(&mut self) -> bool {
        match tokio::task::block_in_place(|| self.files.check()) {
            FileChange::None => false,
            FileChange::Secrets => {
                tracing::info!("a file with a secret has changed");
                true
            }
            FileChange::SecretsAndFile => {
                tracing::warn!(
                    "a file with a secret has changed, and so has the configuration file: reload the server to apply both"
                );
                false
            }
        }
    }

    /// Applies all changes, or none.
    async fn reload(&mut self) -> anyhow::Result<Reloaded> {
        let (settings, config) = tokio::task::block_in_place(&self.reread)?;
        let snapshot = config.snapshot();
        let Changes { mut live, mut fixed } = self.snapshot.changes(&snapshot);
        if settings.tls.is_given() != self.live.tls.is_some() {
            let (kept, restart) =
                live.into_iter().partition(|key: &String| !key.starts_with("server.tls."));
            live = kept;
            fixed.extend::<Vec<_>>(restart);
        }
        if self.live.gateway.is_none() {
            let is_fixed = |key: &mut String| key.starts_with(UPSTREAM);
            fixed.extend(live.extract_if(.., is_fixed));
        }
        let redaction = settings.redaction.clone();
        let (upstreams, model_key) = (settings.upstreams.clone(), settings.model_key.clone());
        let has_changed_queries = live.iter().any(|key| key.starts_with("queries."));
        let queries = has_changed_queries.then(|| config.queries());
        let prepared =
            tokio::time::timeout(CHECK_TIMEOUT, self.prepare(settings, &config, queries));
        let Ok(prepared) = prepared.await else {
            bail!(
                "the checks of keys and saved queries did not end within {} s: check that the databases are available",
                CHECK_TIMEOUT.as_secs()
            );
        };
        let mut prepared = prepared?;
        // Nothing is awaited from here on.
        let previous_rules = self.live.rules.current();
        // Before the queries, so that the previous rules never apply to new queries.
        self.live.rules.replace(prepared.rules);
        if let Some(queries) = prepared.queries
            && let Err(error) = self.live.queries.replace(queries)
        {
            self.live.rules.replace(previous_rules);
            return Err(anyhow::Error::new(error).context("invalid queries"));
        }
        // With the tokens, so that a request is never checked only with rules for other tokens.
        prepared.http.policy = Some(self.live.rules.policy());
        if let Some(sessions) = &self.live.sessions {
            sessions.replace_tokens(prepared.http.bearer.clone());
        }
        self.live.http.replace_config(prepared.http);
        self.live.keys = prepared.keys;
        if let Some(history) = &self.live.history {
            history.replace_redaction(redaction);
        }
        if let (Some(tls), Some(new)) = (&self.live.tls, &prepared.tls) {
            tls.replace(new);
        }
        if let Some(gateway) = &self.live.gateway {
            let names = live.iter().filter_map(|key| key.strip_prefix(UPSTREAM)?.parse().ok());
            let changed: Vec<(UpstreamName, _)> = names
                .map(|name: UpstreamName| {
                    let config = upstreams.get(&name).cloned();
                    (name, config)
                })
                .collect();
            gateway::protect(&upstreams);
            if !changed.is_empty() {
                gateway.change(changed);
            }
            self.live.names = prepared.names;
        }
        if let Some(model) = &self.live.model {
            model.replace_key(model_key);
        }
        self.files = config.watched().clone();
        let concerns_callers =
            |key: &String| key.starts_with("access.") || key.starts_with("roles.");
        if live.iter().any(concerns_callers) {
            self.live.notifier.lists_changed();
        }
        config.log();
        self.snapshot.apply(&live, &snapshot);
        Ok(Reloaded { applied: live, restart: fixed })
    }

    /// Reads and checks everything that changes. `queries` are those that replace the present ones. Checking them
    /// requires their databases.
    async fn prepare(
        &self,
        settings: LiveSettings,
        config: &Config,
        queries: Option<&[SavedQuery]>,
    ) -> anyhow::Result<Prepared> {
        let LiveSettings { access, tls, mut http, default_rate, upstreams, .. } = settings;
        let live = &self.live;
        // Without it, roles would be removed.
        if let Some(file) = &live.file {
            ensure!(config.path().is_some(), "{} does not exist any more", file.display());
        }
        ensure!(
            access.requires_credentials(&tls) == live.requires_credentials,
            "{}: restart the server",
            match live.requires_credentials {
                true => "the configuration has no tokens, but the server requires one",
                false => "the configuration has tokens, but the server requires none",
            }
        );
        ensure!(
            http.max_body <= live.max_body,
            "server.limits.body is {}, more than half of server.limits.memory: lower it",
            http.max_body
        );
        let keys = access::guard(&access, &tls, &mut http, &live.keys).await?;
        let rules = access::rules(&access, config, default_rate)?;
        let mut names = live.names.with_queries(config.queries());
        if live.gateway.is_some() {
            let upstreams = upstreams.keys().map(ToString::to_string);
            names = names.with_upstreams(upstreams).map_err(|name| gateway::taken(&name))?;
        }
        access::check_patterns(&access, config, &names)?;
        let tls = match &live.tls {
            Some(_) => tokio::task::block_in_place(|| tls.open())?,
            None => None,
        };
        let queries = match (queries, &live.databases) {
            (Some(queries), Some(databases)) => {
                Some(trunkline_sql::saved_queries(databases, queries.iter().cloned()).await?)
            }
            _ => None,
        };
        Ok(Prepared { rules, http, keys, tls, queries, names })
    }
}

impl ReloadState {
    /// The state after the start.
    pub(super) fn new() -> Self {
        let state = Self::default();
        state.set(None);
        state
    }

    fn set(&self, failure: Option<&String>) {
        if failure.is_none() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            self.0.succeeded_at.store(seconds, Ordering::Relaxed);
        }
        *self.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure.cloned();
    }

    /// Whether the last reload failed. The page of health is public, so the reason is only in the log.
    pub(super) fn problem(&self) -> Option<String> {
        let failure = self.0.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|_| "the last reload failed; the log has the reason".to_owned())
    }

    /// Adds the metrics to a reply.
    pub(super) fn add(&self, text: &mut Exposition) {
        let success = f64::from(u8::from(self.problem().is_none()));
        let time = self.0.succeeded_at.load(Ordering::Relaxed) as f64;
        for (name, help, value) in [
            ("config_last_reload_successful", "Whether the last reload succeeded.", success),
            (
                "config_last_reload_success_timestamp_seconds",
                "Unix time of the last successful reload.",
                time,
            ),
        ] {
            text.gauge(name, help, [(&[][..], value)]);
        }
    }
}

/// The route of the endpoint.
pub(super) fn routes(endpoint: &Endpoint) -> Routes {
    let router = axum::Router::new().route("/admin/reload", post(reload));
    Routes::new("admin", router.with_state(endpoint.clone()))
}

async fn reload(State(endpoint): State<Endpoint>, context: Context) -> Response<ReplyBody> {
    if let Err(error) = endpoint.rules.check_permission(RELOAD, &context.extensions) {
        return respond(StatusCode::FORBIDDEN, Reply::error(error, None));
    }
    let principal = Principal::of(&context.extensions);
    tracing::info!(principal = principal.map(Principal::name), "reload requested");
    let (sender, outcome) = oneshot::channel();
    let outcome = match endpoint.requests.send(sender).await {
        Ok(()) => outcome.await.ok(),
        Err(_) => None,
    };
    match outcome {
        Some(Ok(reloaded)) => answer(StatusCode::OK, &reloaded),
        Some(Err(error)) => answer(StatusCode::BAD_REQUEST, &json!({ "error": error })),
        None => answer(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": "the server stops" })),
    }
}

fn answer(status: StatusCode, body: &impl Serialize) -> Response<ReplyBody> {
    let text = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(ReplyBody::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
