//! `trunkline chat`.

mod command;
mod completion;
mod dialogue;
mod listing;
mod session;
mod summary;
mod view;

use std::io::{BufRead, ErrorKind, IsTerminal, Read, stdin, stdout};
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
use crate::client::Agent;
use crate::commands::connection::{Connection, url};
use crate::terminal::{Failure, Form, finish};

const NOTES: &str = "\
On a terminal, lines are edited, Ctrl-C cancels a turn, and Ctrl-D ends the chat. Lines are kept in
$XDG_STATE_HOME/trunkline/chat_history (by default in ~/.local/state), unless they begin with a blank.

Otherwise each line of stdin is a message. Answers go to stdout; what is done meanwhile goes to stderr. The
first failure ends it. With --json, each event is a line of JSON on stdout.

--timeout-ms is for a turn to begin, and for commands. A turn that has begun may take as long as the server
lets it, which shows life at least each minute.

Lines that begin with a slash are commands: /help lists them. //text sends /text.

Exit codes:
  0  it was ended, on a terminal also by SIGTERM, or all was answered
  1  the answer is an error, or cannot be printed
  2  the command line, or a command, is wrong
  3  no answer: no connection, TLS failed, it broke off, or time ran out
  4  what answered does not keep to the protocol, or refused on the HTTP level
Ctrl-C and SIGTERM end a script as they end other programs: shells tell 130 and 143.";

/// Talks with the agent of a server.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The server (its /api is asked), or the endpoint itself
    #[arg(value_parser = endpoint, default_value = "http://127.0.0.1:8080")]
    url: Url,
    /// Send this message, print the answer, and exit.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Go on with this conversation.
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Talks until nothing more is said.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || match talk(arguments, form) {
        // As in `trunkline chat … | head -1`.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(String::new()),
        Err(failure) if !form.is_json && is_no_agent(&failure) => {
            let remedy = "  try: the URL of the server alone, or that of its /api; not all servers have an agent\n";
            Err(Failure::Told(failure.text(form) + remedy))
        }
        ended => ended.map(|()| String::new()),
    })
}

/// Whether there is JSON-RPC, and no method of an agent.
fn is_no_agent(failure: &Failure) -> bool {
    let Failure::Call(failed) = failure else { return false };
    failed.error.error_object().is_some_and(|error| error.code() == code::METHOD_NOT_FOUND)
}

fn talk(arguments: &Arguments, form: Form) -> Result<(), Failure> {
    let connection = &arguments.connection;
    let url = arguments.url.clone().or_path("/api");
    let http = connection.connect_within(url.clone(), Agent::MAX_REPLY)?;
    let completion = Completion::default();
    let agent = Agent::new(http, connection.timeout());
    let conversation = arguments.conversation.clone();
    let mut session = Session::new(agent, View::new(form), completion.clone(), conversation);
    // The thread serves idle connections while a line is read.
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::Output)?;
    let is_person = !form.is_json && stdin().is_terminal() && stdout().is_terminal();
    let done = match &arguments.message {
        Some(message) => runtime.block_on(session.say(message)).map(|()| session.tell_pending()),
        None if is_person => Dialogue::new(&runtime, session).run(&url, completion),
        None => run_script(&runtime, &mut session),
    };
    // A look-up of a name may still be running.
    runtime.shutdown_background();
    done
}

/// Executes the lines of stdin. The first failure ends it.
fn run_script(runtime: &Runtime, session: &mut Session) -> Result<(), Failure> {
    while let Some(line) = next_line()? {
        if runtime.block_on(session.take(Line::parse(&line)))?.is_break() {
            break;
        }
        session.tell_pending();
    }
    Ok(())
}

/// The next line of stdin.
fn next_line() -> Result<Option<String>, Failure> {
    /// The maximum number of bytes of a line. Servers accept less.
    const LONGEST: u64 = 1 << 20;
    let mut line = Vec::new();
    let read = stdin().lock().take(LONGEST).read_until(b'\n', &mut line);
    read.map_err(|error| Failure::Usage(format!("stdin cannot be read: {error}")))?;
    if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
        return Err(Failure::Usage(format!("a line has more than {LONGEST} bytes")));
    }
    let line = String::from_utf8(line);
    let line = line.map_err(|_| Failure::Usage("a line is not UTF-8".to_owned()))?;
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// With or without a slash at its end, it is the same one.
fn endpoint(text: &str) -> Result<Url, String> {
    url(text.strip_suffix("/api/").map(|server| format!("{server}/api")).as_deref().unwrap_or(text))
}
