use clap::Args;
use trunkline::client::http::Url;

use crate::commands::connection::{Connection, url};

const NOTES: &str = "\
On a terminal, lines are edited, Ctrl-C cancels a turn, and Ctrl-D ends the chat. What is typed while a turn
runs is thrown away. Lines are kept in $XDG_STATE_HOME/trunkline/chat_history (by default in ~/.local/state),
unless they begin with a blank.

Otherwise each line of stdin is a message. Answers go to stdout; what is done meanwhile goes to stderr. The
first failure ends it. With --json, each event is a line of JSON on stdout.

--timeout-ms is for a turn to begin, and for commands. A turn that has begun may take as long as the server
lets it, which shows life at least each minute.

Lines that begin with a slash are commands: /help lists them. //text says /text.

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
    pub(super) url: Url,
    /// Say this, print the answer, and end.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) message: Option<String>,
    /// Go on with this conversation.
    #[arg(long, value_name = "ID")]
    pub(super) conversation: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// With or without a slash at its end, it is the same one.
fn endpoint(text: &str) -> Result<Url, String> {
    url(text.strip_suffix("/api/").map(|server| format!("{server}/api")).as_deref().unwrap_or(text))
}
