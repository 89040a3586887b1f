//! `trunkline chat` with a person, on a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use serde_json::json;
use tempfile::TempDir;

use crate::chat::{server_with, url};
use crate::support::{Model, PATIENCE, Server, Speech, Terminal, tpch, trunkline};

const PROMPT: &str = "chat> ";

/// A model, its server, and what it is asked.
struct House {
    _folder: TempDir,
    server: Server,
    said: Receiver<String>,
    /// Told when a turn is cancelled.
    gone: Receiver<()>,
    /// Lets the model go on that was told to wait.
    go_on: SyncSender<()>,
    state: TempDir,
}

impl House {
    fn new() -> Self {
        let (folder, path) = tpch();
        let (say, said) = channel();
        let (go, gone) = channel();
        let (go_on, gone_on) = sync_channel(0);
        let gone_on = Mutex::new(gone_on);
        let delete = |speech: &mut Speech| {
            let filters = json!({ "r_name": "NONE" });
            let arguments = json!({ "table_name": "region", "filters": filters });
            speech.calls(&[("delete_record", arguments)]);
        };
        let model = Model::new(move |question, speech| {
            let is_after_call = !question.results().is_empty();
            match question.said() {
                "fall" if is_after_call => speech.refuses(500, "gone"),
                _ if is_after_call => speech.says("It is done."),
                "fall" => speech.calls(&[("list_tables", json!({}))]),
                "stall" => {
                    speech.says("Let me think");
                    speech.stalls();
                    go.send(()).unwrap();
                }
                said @ ("wait" | "wait and delete") => {
                    speech.says("Wait");
                    gone_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                    speech.says(" for it.");
                    if said != "wait" {
                        delete(speech);
                    }
                }
                "delete" => delete(speech),
                "refuse" => speech.refuses(500, "gone"),
                said => speech.says(&format!("{}: {said}.", question.turns())),
            }
            drop(say.send(question.said().to_owned()));
        });
        let server = server_with(&model, &path);
        Self { _folder: folder, server, said, gone, go_on, state: tempfile::tempdir().unwrap() }
    }

    /// A chat, at its first prompt.
    fn chat(&self) -> Terminal {
        let mut terminal = Terminal::run(&self.command());
        terminal.until("16 tools. /help");
        terminal.until(PROMPT);
        terminal
    }

    fn command(&self) -> Command {
        let mut command = trunkline(Path::new("."));
        command.args(["chat", &url(self.server.address)]);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn said(&self) -> String {
        self.said.recv_timeout(PATIENCE).unwrap()
    }

    /// Cancels a turn, and waits until the server has cancelled it: the conversation is busy before.
    fn cancel_turn(&self, chat: &mut Terminal) {
        let mut history = self.server.connect();
        let head = "GET /history/stream?method=agent.chat&status=cancelled HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(history.ask(head).status, 200);
        chat.types("stall\r");
        chat.until("Let me think");
        chat.types("\x03");
        chat.until("cancelled");
        chat.until(PROMPT);
        self.gone.recv_timeout(PATIENCE).unwrap();
        while !history.line().starts_with("event: entry") {}
    }
}

#[test]
fn lines_are_edited_and_kept() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("helo\x1b[Dl\r");
    chat.until("1: hello.");
    chat.until(PROMPT);
    assert_eq!(house.said(), "hello");
    chat.types(" secret\r");
    chat.until("2: secret.");
    chat.until(PROMPT);
    // Two lines that are pasted are one message.
    chat.types("\x1b[200~two\rlines\x1b[201~\r");
    chat.until("lines.");
    chat.until(PROMPT);
    assert_eq!([house.said(), house.said()], ["secret", "two\nlines"]);
    // Two lines that are typed ahead are two.
    chat.types("one\rmore\r");
    chat.until("4: one.");
    chat.until("5: more.");
    chat.until(PROMPT);
    chat.types("/to\tlist_t\t\r");
    chat.until("Lists the tables");
    chat.until(PROMPT);
    chat.types("\x04");
    chat.until("--conversation ");
    assert_eq!(chat.end(), (Some(0), true));

    let file = house.state.path().join("trunkline/chat_history");
    let kept = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = kept.lines().skip(1).collect();
    assert_eq!(lines, ["hello", r"two\nlines", "one", "more", "/tools list_tables"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

    // They are there in the next chat.
    let mut chat = house.chat();
    (0..2).for_each(|_| drop(house.said()));
    chat.types("\x1b[A\x1b[A\x1b[A!\r");
    chat.until("1: one!.");
    assert_eq!(house.said(), "one!");
    chat.until(PROMPT);
    chat.types("/quit\r");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn a_turn_is_cancelled() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("first\r");
    chat.until("1: first.");
    chat.until(PROMPT);
    house.cancel_turn(&mut chat);
    // The conversation is as it was before.
    chat.types("next\r");
    chat.until("2: next.");
    chat.until(PROMPT);
    // At the prompt, the line is cleared.
    chat.types("not said\x03");
    chat.until("Ctrl-D ends the chat");
    chat.until(PROMPT);
    chat.signal("INT");
    chat.until("Ctrl-D ends the chat");
    chat.until(PROMPT);
    chat.types("/help\r");
    chat.until("//text");
    chat.until(PROMPT);
    chat.types("\x04");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn failures_are_told() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("refuse\r");
    chat.until("error -32000: The model failed");
    chat.until("kind: refused");
    chat.until(PROMPT);
    chat.types("/tolls\r");
    chat.until("no command /tolls (is it /tools?)");
    chat.until(PROMPT);
    chat.types("again\r");
    chat.until("1: again.");
    chat.until(PROMPT);
    // What was done before a failure is kept, in a conversation that goes on.
    chat.types("/clear\r");
    chat.until(PROMPT);
    chat.types("fall\r");
    chat.until("> list_tables");
    chat.until("error -32000");
    chat.until(PROMPT);
    chat.types("again\r");
    chat.until("2: again.");
    chat.until(PROMPT);
    house.server.stop();
    chat.types("nobody?\r");
    chat.until("nothing listens there");
    chat.until(PROMPT);
    // It is ended while a line is edited.
    chat.signal("TERM");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn calls_are_made_with_consent() {
    let house = House::new();
    let mut chat = house.chat();
    let proposed = |chat: &mut Terminal| {
        chat.until("delete_record waits to be confirmed:");
        chat.until("\"r_name\": \"NONE\"");
        chat.until(QUESTION);
    };
    for answer in ["\r", "n\r", "maybe\r", "\x03", "\x04"] {
        chat.types("delete\r");
        proposed(&mut chat);
        chat.types(answer);
        let shown = chat.until("not made");
        assert!(!shown.contains("It is done"), "{answer:?}: {shown}");
        chat.until(PROMPT);
    }
    chat.types("/confirm\r");
    chat.until("> delete_record");
    chat.until("It is done.");
    chat.until(PROMPT);
    for answer in ["y\r", "YES\r"] {
        chat.types("delete\r");
        proposed(&mut chat);
        chat.types(answer);
        chat.until("> delete_record");
        chat.until("It is done.");
        chat.until(PROMPT);
    }
    // What was typed before the question is no answer to it: it is said next.
    chat.types("delete\ry\r");
    proposed(&mut chat);
    chat.types("\r");
    chat.until("not made");
    chat.until(": y.");
    chat.until(PROMPT);
    chat.types("\x04");
    assert_eq!(chat.end(), (Some(0), true));
}

const QUESTION: &str = "make this call? [y/N] ";

/// A signal is no answer, and no answer is one to another question.
#[test]
fn a_question_is_withdrawn() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.signal("INT");
    chat.until("not made");
    chat.until(PROMPT);
    chat.types("y\r");
    chat.until(": y.");
    chat.until(PROMPT);
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.signal("TERM");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn a_turn_is_terminated() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("stall\r");
    chat.until("Let me think");
    chat.signal("TERM");
    house.gone.recv_timeout(PATIENCE).unwrap();
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn what_is_typed_while_a_turn_runs_is_the_next_line() {
    let house = House::new();
    let mut chat = house.chat();
    chat.types("wait\r");
    chat.until("Wait");
    chat.types("hello\r");
    house.go_on.send(()).unwrap();
    chat.until(" for it.");
    chat.until("2: hello.");
    chat.until(PROMPT);
    // It does not answer a question.
    chat.types("wait and delete\r");
    chat.until("Wait");
    chat.types("y\r");
    house.go_on.send(()).unwrap();
    chat.until(QUESTION);
    chat.types("\r");
    chat.until("not made");
    chat.until(PROMPT);
}

/// In a shell with job control.
#[test]
fn a_line_is_shown_anew_after_a_stop() {
    let house = House::new();
    let chat = house.command();
    let mut shell = Command::new("sh");
    shell.args(["-c", "set -m; \"$@\"; echo stopped; fg", "sh"]);
    shell.arg(chat.get_program()).args(chat.get_args());
    shell.env("XDG_STATE_HOME", house.state.path());
    let mut chat = Terminal::run(&shell);
    chat.until(PROMPT);
    chat.types("hel");
    chat.until("hel");
    chat.types("\x1a");
    chat.until("stopped\n");
    chat.until("chat> hel");
    chat.types("lo\r");
    chat.until("1: hello.");
    chat.until(PROMPT);
    chat.types("\x04");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn a_terminal_that_knows_no_escapes() {
    let house = House::new();
    // Where CI is set, programs may colour their output though the terminal has no colours.
    let mut chat = Terminal::run(house.command().env("TERM", "dumb").env("CI", "true"));
    chat.until(PROMPT);
    chat.types("hello\r");
    chat.until("1: hello.");
    chat.until(PROMPT);
    house.cancel_turn(&mut chat);
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.types("\x04");
    chat.until("not made");
    chat.until(PROMPT);
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.types("y\r");
    chat.until("It is done.");
    chat.until(PROMPT);
    chat.types("\x04");
    chat.until("--conversation");
    assert!(!chat.has_escapes());
    assert_eq!(chat.end(), (Some(0), true));
}

/// What is asked about is shown where the question is.
#[test]
fn stderr_is_elsewhere() {
    let house = House::new();
    let chat = house.command();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>/dev/null", "sh"]);
    command.arg(chat.get_program()).args(chat.get_args());
    command.env("XDG_STATE_HOME", house.state.path());
    let mut chat = Terminal::run(&command);
    chat.until(PROMPT);
    chat.types("delete\r");
    chat.until("delete_record waits to be confirmed:");
    chat.until("\"r_name\": \"NONE\"");
    chat.until(QUESTION);
}

#[test]
fn a_conversation_that_is_not_there() {
    let house = House::new();
    let mut chat = Terminal::run(house.command().args(["--conversation", "bogus"]));
    chat.until("you have no conversation bogus: without --conversation, a new one begins");
    assert_eq!(chat.end(), (Some(2), true));

    let mut chat = house.chat();
    chat.types("first\r");
    chat.until("1: first.");
    chat.until(PROMPT);
    let mut other = house.chat();
    other.types("/conversations\r");
    other.until("begins with");
    let shown = other.until("  now");
    let id = shown.split_whitespace().last().unwrap();
    let mut third = Terminal::run(house.command().args(["--conversation", id]));
    third.until("going on with: first");
    other.types(&format!("/delete {id}\r"));
    other.until("deleted");
    chat.types("second\r");
    chat.until("error -32011");
    chat.until("what is said next begins a new conversation");
    chat.until(PROMPT);
    chat.types("third\r");
    chat.until("1: third.");
}

#[test]
fn nobody_to_talk_with() {
    let mut command = trunkline(Path::new("."));
    command.args(["chat", "http://127.0.0.1:1"]);
    let mut chat = Terminal::run(&command);
    chat.until("nothing listens there");
    assert_eq!(chat.end(), (Some(3), true));
}
