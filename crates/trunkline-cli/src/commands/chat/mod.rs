//! `trunkline chat`.

mod command;
mod completion;
mod dialogue;
mod listing;
mod session;
mod summary;
mod view;

use std::io::{BufRead, IsTerminal, Read, stdin, stdout};
use std::process::ExitCode;

use clap::Args;
use tokio::runtime::{self, Runtime};
use trunkline::client::http::Url;
use trunkline::code;

use self::command::Line;
use self::completion::Completion;
use self::dialogue::Dialogue;
use self::session::Session;
use self::view::View;
use crate::client::{Agent, CallError};
use crate::commands::connection::{Address, Connection, MORE};
use crate::terminal::{Failure, Renderer, finish};

const NOTES: &str = "\
On a terminal, lines can be edited; Ctrl-C cancels a turn, and Ctrl-D ends the chat. Answers are rendered as \
Markdown. Lines are saved in $XDG_STATE_HOME/trunkline/chat_history (default: ~/.local/state), unless they begin \
with a blank.

Otherwise, each line of stdin is a message. Answers go to stdout, calls and status to stderr. The first error \
ends the command. With --json, each event is a line of JSON on stdout.

--timeout-ms applies to commands and to the start of a turn. After that, a turn fails only if the server is silent \
for a minute.

Lines that begin with a slash are commands: /help lists them. //text sends /text.

Exit codes:
  0  success; on a terminal also after SIGTERM
  1  the server returned an error, or the output could not be written
  2  invalid command line, or an invalid command
  3  no response: connection or TLS failed, the connection broke, or the timeout expired
  4  protocol error: the response is invalid, or an HTTP error
Without a terminal, Ctrl-C and SIGTERM end the process as usual: shells report 130 and 143.";

/// Chat with the agent of a server
#[derive(Args)]
#[command(after_help = MORE, after_long_help = NOTES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Address,
    /// Send this message, print the answer, and exit
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the chat.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = Renderer::for_streams(arguments.connection.json, None);
    finish(renderer, || match talk(arguments, renderer) {
        Err(Failure::Call(failed)) if has_no_agent(&failed) => {
            let remedy = "check that the server has an agent, and that the URL has no path or that of its /api";
            Err(Failure::CallWithRemedy(failed, remedy.to_owned()))
        }
        ended => ended.map(|()| String::new()),
    })
}

/// Whether the server has JSON-RPC, but not the methods of an agent.
fn has_no_agent(failed: &CallError) -> bool {
    failed.error.error_object().is_some_and(|error| error.code() == code::METHOD_NOT_FOUND)
}

fn talk(arguments: &Arguments, renderer: Renderer) -> Result<(), Failure> {
    let connection = &arguments.connection;
    let url = without_final_slash(arguments.server.url()?).or_path("/api");
    let http = connection.connect_within(url.clone(), Agent::MAX_REPLY)?;
    let completion = Completion::default();
    let agent = Agent::new(http, connection.timeout());
    let conversation = arguments.conversation.clone();
    let mut session = Session::new(agent, View::new(renderer), completion.clone(), conversation);
    // The thread serves idle connections while a line is being read.
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::Output)?;
    let is_interactive = !renderer.is_json() && stdin().is_terminal() && stdout().is_terminal();
    let outcome = match &arguments.message {
        Some(message) => runtime.block_on(session.send(message)).map(|()| session.print_pending()),
        None if is_interactive => {
            Dialogue::new(&runtime, session, arguments.server.argument()).run(&url, completion)
        }
        None => run_script(&runtime, &mut session),
    };
    // A name lookup may still be running.
    runtime.shutdown_background();
    outcome
}

/// Executes the lines of stdin up to the first error.
fn run_script(runtime: &Runtime, session: &mut Session) -> Result<(), Failure> {
    while let Some(line) = next_line()? {
        if runtime.block_on(session.execute(Line::parse(&line)))?.is_break() {
            break;
        }
        session.print_pending();
    }
    Ok(())
}

/// The next line of stdin.
fn next_line() -> Result<Option<String>, Failure> {
    /// The maximum number of bytes of a line. Servers accept fewer.
    const MAX_LINE: u64 = 1 << 20;
    let mut line = Vec::new();
    let read = stdin().lock().take(MAX_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| Failure::Usage(format!("cannot read stdin: {error}")))?;
    if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
        return Err(Failure::Usage(format!("a line of stdin has more than {MAX_LINE} bytes")));
    }
    let line = String::from_utf8(line);
    let line = line.map_err(|_| Failure::Usage("a line of stdin is not valid UTF-8".to_owned()))?;
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// `/api/` is the same endpoint as `/api`.
fn without_final_slash(url: Url) -> Url {
    match url.to_string().strip_suffix("/api/") {
        Some(server) => format!("{server}/api").parse().unwrap_or(url),
        None => url,
    }
}
