//! `trunkline chat`.

mod command;
mod completion;
mod dialogue;
mod editor;
mod input;
mod lines;
mod listing;
mod paint;
mod question;
mod script;
mod session;
mod summary;
mod terminal;
mod view;

use std::io::{ErrorKind, IsTerminal, stdin, stdout};
use std::process::ExitCode;

use clap::Args;
use trunkline::client::http::Url;
use trunkline::code;

use self::completion::Completion;
use self::dialogue::Dialogue;
use self::editor::{Editor, Redraw};
use self::input::{Input, Source};
use self::lines::Lines;
use self::session::Session;
use self::view::View;
use crate::client::Agent;
use crate::commands::connection::{Connection, url};
use crate::terminal::{Failure, Form, finish, wait_for};

const NOTES: &str = "\
On a terminal, lines are edited, Ctrl-C cancels a turn, and Ctrl-D ends the chat. What is typed while a turn
runs is thrown away. Lines are kept in $XDG_STATE_HOME/trunkline/chat_history (by default in ~/.local/state),
unless they begin with a blank.

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
    let (view, completion) = (View::new(form), Completion::default());
    let paint = view.paint();
    let agent = Agent::new(http, connection.timeout());
    let conversation = arguments.conversation.clone();
    let mut session = Session::new(agent, view, completion.clone(), conversation);
    let is_person = !form.is_json && stdin().is_terminal() && stdout().is_terminal();
    wait_for(async {
        match &arguments.message {
            Some(message) => script::once(&mut session, message).await,
            None if is_person => {
                dialogue::greet(&mut session, &url).await?;
                let redraw = Redraw::default();
                let editor = Editor::open(completion, paint, redraw.clone())?;
                let input = Input::read(Source::Terminal(Box::new(editor)))?;
                let dialogue = Dialogue::new(session, input, redraw).map_err(Failure::Output)?;
                dialogue.run().await
            }
            None => script::run(&mut session, &mut Input::read(Source::Stdin(Lines))?).await,
        }
    })
}

/// With or without a slash at its end, it is the same one.
fn endpoint(text: &str) -> Result<Url, String> {
    url(text.strip_suffix("/api/").map(|server| format!("{server}/api")).as_deref().unwrap_or(text))
}
