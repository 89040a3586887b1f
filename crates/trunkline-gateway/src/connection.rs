//! The connection to an upstream.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{Mutex, Notify};
use trunkline::client::http::{HttpClientConfig, Url};
use trunkline::client::{Error as CallError, Http, ProtocolError};
use trunkline::code;
use trunkline_mcp::client::{
    CallOptions, Change, Client, ClientHandler, EraCache, Error, HandlerFeatures, LastLines, List,
    McpClientConfig, RequestError, StdioConfig, Transport,
};
use trunkline_mcp::tools::Tool;
use trunkline_mcp::{CompletionParams, CompletionTarget, CompletionValues, LogLevel, Received};

use crate::config::{CommandTarget, GatewayConfig, HttpTarget, Target, UpstreamConfig};
use crate::name::UpstreamName;
use crate::running_call::MAX_QUESTIONS;
use crate::subscriptions::Subscriptions;
use crate::tools::OtherLists;

/// A connected client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    changes: Arc<Changes>,
    /// Whether the server has one level of log messages for all calls.
    has_common_level: bool,
    /// The lowest level so far.
    level: Mutex<Option<LogLevel>>,
}

/// The era of a program, and the last output of its processes.
#[derive(Debug, Default)]
pub(crate) struct ProgramState {
    eras: EraCache,
    output: LastLines,
}

/// The notifications of changes.
#[derive(Debug)]
struct Changes {
    lists: Notify,
    subscriptions: Arc<Subscriptions>,
}

/// The first revision without sessions.
const STATELESS: &str = "2026-07-28";
/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 3;

/// The variables of this process that every program gets. Others may contain secrets.
const VARIABLES: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

impl Connection {
    /// Connects. The error is a message.
    pub(crate) async fn open(
        name: &UpstreamName,
        config: &UpstreamConfig,
        gateway: &GatewayConfig,
        subscriptions: &Arc<Subscriptions>,
        program: &ProgramState,
    ) -> Result<Self, String> {
        let subscriptions = Arc::clone(subscriptions);
        let changes = Arc::new(Changes { lists: Notify::new(), subscriptions });
        let mut settings = client_config(config, &changes);
        let client = match &config.target {
            Target::Http(target) => connect_http(target, config, settings).await?,
            Target::Command(target) => {
                settings.eras = program.eras.clone();
                program.output.clear();
                let stdio = stdio_config(name, target, &program.output);
                let transport = Transport::stdio(command(target, gateway), stdio);
                let connected = Client::connect(transport, settings).await;
                connected.map_err(|error| reason(&error))?
            }
        };
        let server = client.server();
        let is_legacy = server.protocol_version.as_str() < STATELESS;
        let has_common_level = is_legacy && server.capabilities.logging;
        Ok(Self { client, changes, has_common_level, level: Mutex::default() })
    }

    /// Lists the tools, if the server has any.
    pub(crate) async fn tools(&self) -> Result<List<Received<Tool>>, Error> {
        or_empty(self.client.list_tools().await)
    }

    /// Lists the resources and prompts, if the server has any.
    pub(crate) async fn others(&self) -> OtherLists {
        let capabilities = self.client.server().capabilities.clone();
        let mut lists = OtherLists {
            resources: Ok(List::default()),
            templates: Ok(List::default()),
            prompts: Ok(List::default()),
            has_completions: capabilities.completions,
        };
        if capabilities.resources {
            lists.resources =
                or_empty(self.client.list_resources().await).map_err(|error| reason(&error));
            lists.templates = or_empty(self.client.list_resource_templates().await)
                .map_err(|error| reason(&error));
        }
        if capabilities.prompts {
            lists.prompts =
                or_empty(self.client.list_prompts().await).map_err(|error| reason(&error));
        }
        lists
    }

    /// Reads a resource. Returns the members `contents` and `_meta`, as received.
    pub(crate) async fn read(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<Box<RawValue>, Error> {
        self.set_level(options.level).await;
        let result = self.client.read_resource_with(uri, options).await?;
        let mut members: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.object().get()).unwrap_or_default();
        members.retain(|name, _| matches!(name.as_str(), "contents" | "_meta"));
        Ok(to_raw_value(&members).expect("JSON serialises into memory"))
    }

    /// Returns the messages of a prompt, as received.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<Box<RawValue>, Error> {
        self.set_level(options.level).await;
        Ok(self.client.get_prompt_with(name, arguments, options).await?.into_object())
    }

    /// Suggests values for an argument of a prompt, or for a variable of a template.
    pub(crate) async fn complete(
        &self,
        target: &CompletionTarget,
        params: &CompletionParams,
    ) -> Result<CompletionValues, Error> {
        let argument = (&*params.argument, &*params.value);
        self.client.complete(target, argument, &params.context).await
    }

    /// Waits until the server notifies of a changed list.
    pub(crate) async fn changed(&self) {
        self.changes.lists.notified().await;
    }

    /// Waits until the connection ends, and returns the reason.
    pub(crate) async fn closed(&self) -> String {
        self.client.closed().await;
        match self.client.ping().await {
            Err(error) => reason(&error),
            Ok(()) => "the connection was closed".to_owned(),
        }
    }

    /// Calls a tool. Returns the result as received.
    pub(crate) async fn call(
        &self,
        tool: &Received<Tool>,
        arguments: &RawValue,
        options: CallOptions,
    ) -> Result<Box<RawValue>, Error> {
        self.set_level(options.level).await;
        Ok(self.client.call_tool_with(tool, arguments, options).await?.into_object())
    }

    /// Makes a server of an earlier revision than 2026-07-28, which has one level for all calls, send log messages of
    /// this level. The level of a caller is applied when a message is passed on.
    async fn set_level(&self, level: Option<LogLevel>) {
        let Some(level) = level.filter(|_| self.has_common_level) else { return };
        let mut lowest = self.level.lock().await;
        if lowest.is_some_and(|lowest| lowest <= level) {
            return;
        }
        if let Err(error) = self.client.set_level(level).await {
            tracing::debug!(%error, "cannot set the level of log messages");
        }
        *lowest = Some(level);
    }

    /// Ends the connection, and the process of a command.
    pub(crate) async fn close(&self) {
        self.client.clone().close().await;
    }
}

impl ProgramState {
    /// Adds what the program has printed to a reason that does not have it.
    pub(crate) fn describe(&self, reason: String) -> String {
        match self.output.text() {
            Some(output) if !reason.contains("output: ") => format!("{reason}; output: {output}"),
            _ => reason,
        }
    }
}

impl ClientHandler for Changes {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.list_changes = true;
        // Servers of earlier revisions than 2026-07-28 learn them once, before there are calls. Requests that belong to no
        // call are refused.
        (features.forms, features.urls) = (true, true);
        (features.sampling, features.sampling_tools) = (true, true);
        features.roots = true;
        features
    }

    fn changed(&self, change: Change) {
        match change {
            Change::Tools | Change::Resources | Change::Prompts => self.lists.notify_one(),
            Change::Resource(uri) => self.subscriptions.updated(&uri),
            _ => {}
        }
    }
}

/// An empty list if the server does not have the method.
fn or_empty<T>(list: Result<List<T>, Error>) -> Result<List<T>, Error> {
    let is_unknown = |error: &Error| {
        error.error_object().is_some_and(|error| error.code() == code::METHOD_NOT_FOUND)
    };
    match list {
        Err(error) if is_unknown(&error) => Ok(List::default()),
        list => list,
    }
}

/// Connects to a URL, following redirects that the configuration lists.
async fn connect_http(
    target: &HttpTarget,
    config: &UpstreamConfig,
    mut settings: McpClientConfig,
) -> Result<Client, String> {
    let source = target.token_source.as_ref();
    settings.authorization = source.or(target.authorization.as_ref()).cloned();
    let mut url = target.url.clone().or_path("/mcp");
    for _ in 0..=MAX_REDIRECTS {
        let http = http(url, target, config)?;
        let error = match Client::connect(http, settings.clone()).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        url = match redirect(&error) {
            Some(to) => allowed(target, to)?,
            None => return Err(reason(&error)),
        };
        // Tokens of OAuth are those of the first URL.
        settings.authorization = source.cloned();
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

fn http(url: Url, target: &HttpTarget, config: &UpstreamConfig) -> Result<Http, String> {
    let settings = HttpClientConfig {
        headers: target.headers.clone(),
        bearer: target.bearer.clone(),
        max_reply: 16 << 20,
        connect_timeout: config.connect_timeout,
        idle_connections: config.in_flight,
        ..HttpClientConfig::default()
    };
    Http::with_config(url, settings).map_err(|error| causes(&error))
}

fn client_config(config: &UpstreamConfig, changes: &Arc<Changes>) -> McpClientConfig {
    /// The timeouts of calls have the better messages.
    const MARGIN: Duration = Duration::from_secs(5);
    let handler: Arc<dyn ClientHandler> = Arc::<Changes>::clone(changes);
    let mut settings = McpClientConfig::new("trunkline-gateway", env!("CARGO_PKG_VERSION"));
    settings.timeout = config.call_timeout.max(config.connect_timeout).saturating_add(MARGIN);
    settings.handler_timeout = config.input_timeout.saturating_add(MARGIN);
    let input = settings.handler_timeout.saturating_mul(MAX_QUESTIONS);
    settings.max_timeout = settings.timeout.saturating_add(input);
    // A task has no progress notifications, which callers may expect.
    settings.tasks = false;
    settings.connect_timeout = config.connect_timeout;
    settings.probe_timeout = settings.probe_timeout.min(config.connect_timeout / 3);
    settings.max_items = config.max_tools;
    settings.handler = handler;
    // Each list is also a check of the connection.
    settings.cache_bytes = 0;
    settings
}

/// The program, run by the supervisor if there is one.
fn command(target: &CommandTarget, gateway: &GatewayConfig) -> Command {
    let mut command = match &gateway.supervisor {
        Some(supervisor) => supervisor.command(&target.program),
        None => Command::new(&target.program),
    };
    command.args(&target.arguments).env_clear();
    let inherited = VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.envs(inherited).envs(target.environment.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &target.folder {
        command.current_dir(folder);
    }
    command
}

/// Lines of stderr are written to the log.
fn stdio_config(name: &UpstreamName, target: &CommandTarget, output: &LastLines) -> StdioConfig {
    let mut config = StdioConfig::default();
    config.name = Some(target.program.to_string_lossy().into_owned());
    let (upstream, output) = (name.clone(), output.clone());
    config.stderr = Arc::new(move |line| {
        output.add(line);
        tracing::debug!(%upstream, line, "stderr");
    });
    config
}

/// The target of a redirect.
fn redirect(error: &Error) -> Option<&str> {
    let (Error::Request(error) | Error::Initialize(error)) = error else { return None };
    match &error.error {
        CallError::Protocol(ProtocolError::Redirect { to, .. }) => Some(to),
        _ => None,
    }
}

/// The target of a redirect, if the configuration lists it.
fn allowed(target: &HttpTarget, to: &str) -> Result<Url, String> {
    let is_listed = |url: &&Url| url.to_string().trim_end_matches('/') == to.trim_end_matches('/');
    target.redirects.iter().find(is_listed).cloned().ok_or_else(|| {
        format!(
            "redirect to {to:?} was not followed; if it is right, use it as the URL, or list it in `redirects`"
        )
    })
}

/// An error and its causes.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut texts = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // The text of a request error is that of its inner error; it has no source.
        let error = error.downcast_ref::<RequestError>().map_or(error, |request| &request.error);
        texts.push(error.to_string());
        next = error.source();
    }
    texts.dedup();
    texts.join(": ")
}

/// An error of the client and its causes.
pub(crate) fn reason(error: &Error) -> String {
    match error {
        Error::Request(request) => causes(&request.error),
        error => causes(error),
    }
}
