//! The configuration of a gateway and of its upstreams.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline::client::http::{Bearer, Url};
use trunkline_mcp::client::Authorization;

use crate::filter::ToolFilter;

/// Configuration of a [`Gateway`](crate::Gateway).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The file of approved tools. Default: none, so approvals are lost when the process ends.
    pub approvals: Option<PathBuf>,
    /// The program that runs commands. Default: none, so commands are started directly, and may continue to run if
    /// this process is killed.
    pub supervisor: Option<Supervisor>,
}

/// A program that runs the command in its last arguments, and ends it with their parent, as `trunkline tool supervise` does.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments before those of the command.
    pub arguments: Vec<OsString>,
}

impl Supervisor {
    /// The command that runs `program`, whose arguments can be added.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(program);
        command
    }
}

/// Configuration of an upstream: an MCP server whose tools are offered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// The place of the server.
    pub target: Target,
    /// The tools that are offered. Default: all.
    pub tools: ToolFilter,
    /// Whether tools that changed after they were approved, and tools that were added later, are withheld. Default
    /// false: they are offered, and flagged in the log and in the status.
    pub pin: bool,
    /// Whether lists contain the schemas of tools in the form that all hosts of models accept
    /// ([`trunkline_mcp::tools::model_input`]). Default true. Otherwise, they contain the schemas of the server. Arguments are
    /// validated against the latter in both cases.
    pub rewrite_schemas: bool,
    /// The timeout of a call. Default 60 s.
    pub call_timeout: Duration,
    /// The maximum time in which a caller answers a question of the server: elicitation, sampling or roots. It does not
    /// count for the timeout of the call. Default 5 min.
    pub input_timeout: Duration,
    /// The timeout for connecting and listing the tools. Default 60 s: `npx` and `uvx` download a program before they start
    /// it.
    pub connect_timeout: Duration,
    /// The interval of listing the tools again, which also checks the connection. Default 60 s. Between them, the list
    /// is refreshed when the server notifies of a change, but not more often than each second.
    pub refresh_interval: Duration,
    /// The maximum number of tools, of resources, of templates and of prompts. Default 1,000. A server with more tools
    /// fails; longer lists of the others are left out.
    pub max_tools: usize,
    /// The maximum number of concurrent calls. Default 32.
    pub in_flight: usize,
    /// The maximum number of calls that wait for others. Default 64. Further ones fail with -32005.
    pub queue: usize,
    /// The delay before the first attempt to connect again. Default 500 ms. It doubles with each attempt.
    pub min_backoff: Duration,
    /// The maximum delay between attempts to connect. Default 60 s.
    pub max_backoff: Duration,
}

/// The place of an upstream.
#[derive(Debug, Clone)]
pub enum Target {
    /// A URL: Streamable HTTP or HTTP+SSE.
    Http(HttpTarget),
    /// A program that is started and connected over its stdin and stdout.
    Command(CommandTarget),
}

/// A server at a URL. Requests have only these credentials, never those of a caller.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpTarget {
    /// The URL.
    pub url: Url,
    /// The token. Default: none.
    pub bearer: Option<Bearer>,
    /// A token that may change, such as one in a file, in place of [`bearer`](Self::bearer). It is asked again when the
    /// server refuses the token, and the request is repeated. Default: none.
    pub token_source: Option<Arc<dyn Authorization>>,
    /// Obtains and refreshes tokens (OAuth), if there is neither a [`bearer`](Self::bearer) nor a
    /// [source](Self::token_source). Default: none.
    pub authorization: Option<Arc<dyn Authorization>>,
    /// The headers of all requests. Default: none.
    pub headers: HeaderMap,
    /// The URLs that the server may redirect to. Default: none, so a redirect is an error. The bearer token and the
    /// headers are sent there, too.
    pub redirects: Vec<Url>,
}

/// A program that is started.
#[derive(Clone)]
#[non_exhaustive]
pub struct CommandTarget {
    /// The program: a path, or a name that is searched in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables in addition to those that every program gets: `HOME`, `LANG`, `LC_ALL`, `LOGNAME`, `PATH`, `SHELL`,
    /// `TERM`, `TMPDIR`, `TZ` and `USER`. Default: none.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory. Default: that of this process.
    pub folder: Option<PathBuf>,
}

/// The reason why a target is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// The command is empty.
    #[error("the command is empty; give a program")]
    EmptyCommand,
    /// The header is invalid. The message does not contain its value.
    #[error("invalid header `{0}`")]
    Header(String),
}

impl UpstreamConfig {
    /// An upstream at this place, with the defaults.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            tools: ToolFilter::default(),
            pin: false,
            rewrite_schemas: true,
            call_timeout: Duration::from_secs(60),
            input_timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(60),
            refresh_interval: Duration::from_secs(60),
            max_tools: 1_000,
            in_flight: 32,
            queue: 64,
            min_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(60),
        }
    }
}

/// Omits the credentials.
impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTarget").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpTarget {
    /// A server at this URL, without credentials.
    #[must_use]
    pub fn new(url: Url) -> Self {
        let (bearer, token_source, authorization, headers, redirects) = Default::default();
        Self { url, bearer, token_source, authorization, headers, redirects }
    }

    /// Adds a header to all requests.
    ///
    /// # Errors
    /// If the name or the value is invalid.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, InvalidTarget> {
        let invalid = || InvalidTarget::Header(name.to_owned());
        let parsed = HeaderName::try_from(name).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        self.headers.append(parsed, value);
        Ok(self)
    }
}

impl CommandTarget {
    /// A program with its arguments.
    ///
    /// # Errors
    /// If the program is missing.
    pub fn new(command: impl IntoIterator<Item = OsString>) -> Result<Self, InvalidTarget> {
        let mut command = command.into_iter();
        let program = command.next().filter(|program| !program.is_empty());
        let program = program.ok_or(InvalidTarget::EmptyCommand)?;
        let arguments = command.collect();
        Ok(Self { program, arguments, environment: Vec::new(), folder: None })
    }
}

/// Omits the values of variables, which may be secrets.
impl fmt::Debug for CommandTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("CommandTarget")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .field("folder", &self.folder)
            .finish()
    }
}

/// The kind and the URL or program, for status and messages.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(target) => f.write_str(&target.url.origin()),
            Self::Command(target) => f.write_str(&target.program.to_string_lossy()),
        }
    }
}
