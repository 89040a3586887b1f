//! The connection to an MCP server from the command line, for the commands `tools`, `resources` and `prompts`.

mod content;
mod form;
mod handler;
mod list;
mod login;
mod progress;
mod questions;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use trunkline::client::TransportError;
use trunkline::client::http::Url;
use trunkline_mcp::client::{
    Authorization, CallOptions, Client, Error, McpClientConfig, ProgressCallback, StdioConfig,
    TaskCallback, Transport,
};
use trunkline_mcp::{LogLevel, Root};

pub(crate) use self::content::Part;
use self::handler::Handler;
pub(crate) use self::list::{ListItem, list_text, report_rejected, table_text};
use self::questions::Questions;
use super::connection::{Connection, NOTES, TIMEOUT_RANGE, is_address, split_address};
use crate::client::CallError;
use crate::config::milliseconds;
use crate::oauth;
use crate::server::command_tools;
use crate::terminal::{Failure, Keyboard, StatusLine, line, wait_for};

/// Connection to an MCP server.
#[derive(Args)]
#[command(next_help_heading = "MCP")]
pub(crate) struct McpArgs {
    /// File or folder that the server may use (repeatable)
    ///
    /// The server learns its path as a root, and has to respect it by itself.
    #[arg(long, value_name = "PATH")]
    root: Vec<PathBuf>,
    /// Minimum level of the server's log messages on stderr
    ///
    /// Without it, the server is not asked for messages; those of level warning or above are printed if they arrive.
    /// With debug, the stderr of a COMMAND is printed, too.
    #[arg(long, value_name = "LEVEL", value_parser = level_parser())]
    log_level: Option<LogLevel>,
    /// File for the images, audio or other binary content of the result, or an existing folder
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Log in with the browser if the server requires it (OAuth)
    ///
    /// The tokens are stored in $XDG_DATA_HOME/trunkline/tokens (default: ~/.local/share), readable only by the user.
    /// Later commands use and refresh them without this flag.
    #[arg(long, help_heading = "Connection", conflicts_with = "command")]
    login: bool,
    /// Time for the start of COMMAND until it has answered the first requests, in milliseconds
    ///
    /// npx and uvx download a program before they start it.
    #[arg(long, value_name = "MS", default_value_t = 60_000, value_parser = milliseconds(TIMEOUT_RANGE), help_heading = "Connection")]
    connect_timeout_ms: u64,
    /// Program to start as the server, with its arguments, instead of ADDRESS
    ///
    /// It communicates over stdin and stdout, and ends with this command.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "header", help_heading = None::<&str>)]
    command: Vec<OsString>,
}

/// The server that a command line names.
pub(crate) enum Target {
    Url(Url),
    Command(Vec<OsString>),
}

/// A connected server.
pub(crate) struct Session {
    pub(crate) client: Client,
    status: Arc<StatusLine>,
    updated: Arc<Notify>,
}

/// The end of the long help of these commands.
pub(crate) fn notes() -> String {
    const MCP_NOTES: &str = "\
The progress of a call is shown on stderr if that is a terminal; it also extends the timeout, up to an hour. So is the \
status of a call that becomes a task of the server, whose result is waited for, up to an hour. If stdin \
and stderr are terminals, a server can ask for information: the questions show the server, and Ctrl-D declines. \
Ctrl-C cancels a question, or else the call, and ends a COMMAND (exit code 130). A COMMAND also ends when this command is \
killed. On a terminal, resources, templates and prompts are listed in two lines each instead of a table.";
    format!("{MCP_NOTES}\n\n{NOTES}")
}

fn level_parser() -> impl TypedValueParser<Value = LogLevel> {
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    PossibleValuesParser::new(LEVELS).map(|name| {
        serde_json::from_value(Value::String(name)).expect("these are the names of levels")
    })
}

impl McpArgs {
    /// Splits positional arguments into the server and the rest.
    ///
    /// # Errors
    ///
    /// When the address is invalid, or there is a command in addition to it.
    pub(crate) fn split_target<'a>(
        &self,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<(Target, Vec<&'a str>), Failure> {
        if self.command.is_empty() {
            let (url, words) = split_address(words)?;
            return Ok((Target::Url(url.or_path("/mcp")), words));
        }
        let words: Vec<&str> = words.into_iter().collect();
        match words.first().filter(|first| is_address(first)) {
            Some(address) => Err(Failure::Usage(format!(
                "both the address `{address}` and a command after `--`; omit one of them"
            ))),
            None => Ok((Target::Command(self.command.clone()), words)),
        }
    }

    /// Runs `work` with a connected server until it is done, or until a signal ends it. Then the connection is closed,
    /// and a child process ended.
    ///
    /// # Errors
    ///
    /// Those of `work` and of the connection, and [`Failure::Interrupted`].
    pub(crate) fn run(
        &self,
        target: Target,
        connection: &Connection,
        work: impl AsyncFnOnce(&Session) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        /// The maximum time for answers to the server's requests, and of a call that reports progress or is a task.
        const MAX_TIME: Duration = Duration::from_secs(3_600);
        let status = Arc::new(StatusLine::new());
        let updated = Arc::new(Notify::new());
        let server = match &target {
            Target::Url(url) => url.to_string(),
            Target::Command(command) => display(command),
        };
        let questions =
            Keyboard::is_available().then(|| Arc::new(Questions::new(server, Arc::clone(&status))));
        let handler = Handler {
            questions: questions.clone(),
            roots: self.roots()?,
            status: Arc::clone(&status),
            level: self.log_level.unwrap_or(LogLevel::Warning),
            updated: Arc::clone(&updated),
        };
        let mut config = McpClientConfig::new("trunkline", env!("CARGO_PKG_VERSION"));
        config.timeout = connection.timeout();
        config.connect_timeout = Duration::from_millis(self.connect_timeout_ms);
        config.max_timeout = MAX_TIME.max(config.timeout);
        config.task_timeout = config.max_timeout;
        config.handler_timeout = MAX_TIME;
        config.handler = Arc::new(handler);
        // The connection holds it until its child process has ended.
        let (held, released) = mpsc::channel(1);
        let is_command = matches!(target, Target::Command(_));
        let transport = match target {
            Target::Url(url) => {
                drop(held);
                config.authorization = self.authorization(&url, connection, &status)?;
                connection.connect(url)?.into()
            }
            Target::Command(words) => self.stdio(&words, &status, held)?,
        };
        wait_for(async {
            let mut signals = Signals::new(questions).map_err(Failure::Output)?;
            let client = tokio::select! {
                client = Client::connect(transport, config) => {
                    client.map_err(|error| with_remedy(error, is_command))
                }
                signal = signals.next() => Err(Failure::Interrupted(signal)),
            };
            let client = match client {
                Ok(client) => client,
                Err(failure) => {
                    signals.wait_at_most_until(ended(released)).await;
                    return Err(failure);
                }
            };
            let session = Session { client, status, updated };
            let outcome = tokio::select! {
                biased;
                signal = signals.next() => Err(Failure::Interrupted(signal)),
                outcome = self.work(&session, work) => outcome,
                () = session.status.refresh() => Ok(String::new()),
            };
            session.status.clear();
            signals.wait_at_most_until(session.client.close()).await;
            outcome
        })
    }

    /// The parts of a result as text. Binary parts are saved if there is a place for them.
    ///
    /// # Errors
    ///
    /// When they cannot be saved.
    pub(crate) fn text(&self, parts: Vec<Part>) -> Result<String, Failure> {
        content::text(parts, self.output.as_deref())
    }

    /// Saves the binary parts of a result that is printed in another form.
    ///
    /// # Errors
    ///
    /// When they cannot be saved.
    pub(crate) fn save(&self, parts: Vec<Part>) -> Result<(), Failure> {
        if self.output.is_some() { self.text(parts).map(drop) } else { Ok(()) }
    }

    async fn work(
        &self,
        session: &Session,
        work: impl AsyncFnOnce(&Session) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        if let Some(level) = self.log_level
            && (session.client.server().capabilities.logging || session.is_stateless())
        {
            session.client.set_level(level).await?;
        }
        work(session).await
    }

    /// The OAuth of a server, unless the command line has a token for it.
    fn authorization(
        &self,
        url: &Url,
        connection: &Connection,
        status: &Arc<StatusLine>,
    ) -> Result<Option<Arc<dyn Authorization>>, Failure> {
        match (self.login, connection.has_bearer()) {
            (true, true) => {
                let reason = "--login cannot be used with --bearer or TRUNKLINE_TOKEN";
                Err(Failure::Usage(reason.to_owned()))
            }
            (true, false) => login::with_browser(url, status).map(Some),
            (false, false) => {
                oauth::earlier(url).map_err(|error| Failure::Usage(error.to_string()))
            }
            (false, true) => Ok(None),
        }
    }

    fn stdio(
        &self,
        words: &[OsString],
        status: &Arc<StatusLine>,
        held: mpsc::Sender<Infallible>,
    ) -> Result<Transport, Failure> {
        let program = words.first().map(OsString::as_os_str).unwrap_or_default();
        find(program)?;
        // The server ends with this process, also if it is killed.
        let supervisor = command_tools::supervisor().map_err(|error| {
            Failure::Message(format!("trunkline: {}\n", line(&error.to_string())))
        })?;
        let mut command = supervisor.command(program);
        // The token is that of another server.
        command.args(words.iter().skip(1)).env_remove("TRUNKLINE_TOKEN");
        let is_shown = self.log_level == Some(LogLevel::Debug);
        let status = Arc::clone(status);
        let mut config = StdioConfig::default();
        config.name = Some(program.to_string_lossy().into_owned());
        config.stderr = Arc::new(move |text| {
            let _held = &held;
            if is_shown {
                status.message(&format!("[stderr] {}\n", line(text)));
            }
        });
        Ok(Transport::stdio(command, config))
    }

    fn roots(&self) -> Result<Vec<Root>, Failure> {
        const PATH: &AsciiSet =
            &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
        let root = |path: &PathBuf| {
            let full = path.canonicalize().map_err(|error| {
                Failure::Usage(format!("invalid --root {}: {error}", path.display()))
            })?;
            let uri =
                format!("file://{}", percent_encode(full.as_os_str().as_encoded_bytes(), PATH));
            let name = full.file_name().map(|name| name.to_string_lossy().into_owned());
            Ok(Root { uri, name })
        };
        self.root.iter().map(root).collect()
    }
}

impl Session {
    /// The options of a call: its progress is shown, or the status of its task.
    pub(crate) fn options(&self) -> CallOptions {
        let status = Arc::clone(&self.status);
        let mut options = CallOptions::default();
        options.progress = Some(ProgressCallback::new(move |update| {
            status.set(|columns| progress::text(&update, columns));
        }));
        let status = Arc::clone(&self.status);
        options.task = Some(TaskCallback::new(move |info| {
            status.set(|_| progress::task_text(&info));
        }));
        options
    }

    /// Removes the progress, before other output.
    pub(crate) fn clear_status(&self) {
        self.status.clear();
    }

    /// Waits for a change of a subscribed resource since the last call.
    pub(crate) async fn updated(&self) {
        self.updated.notified().await;
    }

    fn is_stateless(&self) -> bool {
        self.client.server().protocol_version.as_str() >= "2026"
    }
}

/// Checks that a program exists, since the supervisor reports that as the end of the server.
fn find(program: &OsStr) -> Result<(), Failure> {
    const NOT_FOUND: i32 = 2;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let exists = match Path::new(program).components().count() {
        1 => std::env::split_paths(&folders).any(|folder| folder.join(program).exists()),
        _ => Path::new(program).exists(),
    };
    if exists {
        return Ok(());
    }
    let program = program.to_string_lossy().into_owned();
    let source = Arc::new(std::io::Error::from_raw_os_error(NOT_FOUND));
    Err(Failure::Call(CallError::new(TransportError::Spawn { program, source }, None)))
}

/// The signals that end the command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    questions: Option<Arc<Questions>>,
}

impl Signals {
    fn new(questions: Option<Arc<Questions>>) -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            questions,
        })
    }

    /// Waits for a signal, and returns its number. Ctrl-C cancels a question instead, if there is one.
    async fn next(&mut self) -> u8 {
        const HUP: u8 = 1;
        const INT: u8 = 2;
        const TERM: u8 = 15;
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {
                    if !self.questions.as_ref().is_some_and(|questions| questions.cancel()) {
                        return INT;
                    }
                }
                _ = self.terminate.recv() => return TERM,
                _ = self.hang_up.recv() => return HUP,
            }
        }
    }

    /// Waits for the end of a connection. A signal ends the wait.
    async fn wait_at_most_until(&mut self, end: impl Future<Output = ()>) {
        tokio::select! {
            () = end => {}
            _ = self.next() => {}
        }
    }
}

fn with_remedy(error: Error, is_command: bool) -> Failure {
    match error.into() {
        Failure::Call(failed) | Failure::Initialize(failed)
            if is_command && failed.error.is_timeout() =>
        {
            Failure::CallWithRemedy(failed, "increase --connect-timeout-ms".to_owned())
        }
        Failure::Call(failed) if failed.status == Some(StatusCode::UNAUTHORIZED) => {
            Failure::CallWithRemedy(failed, "log in with --login".to_owned())
        }
        failure => failure,
    }
}

/// Waits until a child process has ended.
async fn ended(mut released: mpsc::Receiver<Infallible>) {
    /// The process gets SIGKILL after 4 s.
    const LIMIT: Duration = Duration::from_secs(8);
    drop(timeout(LIMIT, released.recv()).await);
}

/// A command line for display.
fn display(words: &[OsString]) -> String {
    let mut text = String::new();
    for word in words {
        let gap = if text.is_empty() { "" } else { " " };
        write!(text, "{gap}{}", word.to_string_lossy()).expect("a string accepts all text");
    }
    text
}
