//! The connection to an upstream.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Notify;
use trunkline::client::http::{HttpClientConfig, Url};
use trunkline::client::{Error as CallError, Http, ProtocolError};
use trunkline::code;
use trunkline_mcp::client::{
    Change, Client, ClientHandler, Error, HandlerFeatures, List, McpClientConfig, RequestError,
    StdioConfig, Tool, Transport,
};

use crate::config::{CommandTarget, GatewayConfig, HttpTarget, Target, UpstreamConfig};
use crate::name::UpstreamName;
use crate::tools::OtherLists;

/// A connected client.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    changes: Arc<Changes>,
}

/// The notifications of changed lists.
#[derive(Debug, Default)]
struct Changes {
    lists: Notify,
}

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
    ) -> Result<Self, String> {
        let changes = Arc::new(Changes::default());
        let settings = client_config(config, &changes);
        let client = match &config.target {
            Target::Http(target) => connect_http(target, config, settings).await?,
            Target::Command(target) => {
                let transport = Transport::stdio(command(target, gateway), stdio_config(name));
                let connected = Client::connect(transport, settings).await;
                connected.map_err(|error| reason(&error))?
            }
        };
        Ok(Self { client, changes })
    }

    /// Lists the tools, if the server has any.
    pub(crate) async fn tools(&self) -> Result<List<Tool>, Error> {
        or_empty(self.client.list_tools().await)
    }

    /// Lists the resources and prompts, if the server has any.
    pub(crate) async fn others(&self) -> OtherLists {
        let capabilities = self.client.server().capabilities.clone();
        let (mut resources, mut templates, mut prompts) =
            (Ok(Vec::new()), Ok(Vec::new()), Ok(Vec::new()));
        if capabilities.resources {
            resources = objects(self.client.list_resources().await, |one| one.object);
            templates = objects(self.client.list_resource_templates().await, |one| one.object);
        }
        if capabilities.prompts {
            prompts = objects(self.client.list_prompts().await, |one| one.object);
        }
        OtherLists { resources, templates, prompts }
    }

    /// Reads a resource. Returns the members `contents` and `_meta`, as received.
    pub(crate) async fn read(&self, uri: &str) -> Result<Box<RawValue>, Error> {
        let result = self.client.read_resource(uri).await?;
        let mut members: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.object.get()).unwrap_or_default();
        members.retain(|name, _| matches!(name.as_str(), "contents" | "_meta"));
        Ok(to_raw_value(&members).expect("JSON serialises into memory"))
    }

    /// Returns the messages of a prompt, as received.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Box<RawValue>, Error> {
        Ok(self.client.get_prompt(name, arguments).await?.object)
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
        tool: &Tool,
        arguments: &RawValue,
    ) -> Result<Box<RawValue>, Error> {
        Ok(self.client.call_tool(tool, arguments).await?.object)
    }

    /// Ends the connection, and the process of a command.
    pub(crate) async fn close(&self) {
        self.client.clone().close().await;
    }
}

impl ClientHandler for Changes {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.list_changes = true;
        features
    }

    fn changed(&self, change: Change) {
        if let Change::Tools | Change::Resources | Change::Prompts = change {
            self.lists.notify_one();
        }
    }
}

/// The objects of a list.
fn objects<T>(
    list: Result<List<T>, Error>,
    object: impl Fn(T) -> Box<RawValue>,
) -> Result<Vec<Box<RawValue>>, String> {
    let list = or_empty(list).map_err(|error| reason(&error))?;
    Ok(list.items.into_iter().map(object).collect())
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
    settings.authorization.clone_from(&target.authorization);
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
        settings.authorization = None;
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
    let mut settings = McpClientConfig::new("trunkline", env!("CARGO_PKG_VERSION"));
    settings.timeout = config.call_timeout.max(config.connect_timeout).saturating_add(MARGIN);
    settings.max_timeout = settings.timeout;
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
        Some(supervisor) => {
            let mut command = Command::new(&supervisor.program);
            command.args(&supervisor.arguments).arg("--").arg(&target.program);
            command
        }
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
fn stdio_config(name: &UpstreamName) -> StdioConfig {
    let mut config = StdioConfig::default();
    let upstream = name.clone();
    config.stderr = Arc::new(move |line| tracing::debug!(%upstream, line, "stderr"));
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
