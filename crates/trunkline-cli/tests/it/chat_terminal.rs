//! `trunkline chat` on a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::chat::{server_with, url};
use crate::support::{Model, PATIENCE, Server, Speech, Terminal, tpch, trunkline};

const PROMPT: &str = "chat> ";

/// A server with a scripted model, and the messages that the model receives.
struct Setup {
    _folder: TempDir,
    server: Server,
    messages: Receiver<String>,
    /// Receives a value when a turn is cancelled.
    cancelled: Receiver<()>,
    /// Lets a waiting model continue.
    go_on: SyncSender<()>,
    state: TempDir,
}

impl Setup {
    fn new() -> Self {
        let (folder, path) = tpch();
        let (send, messages) = channel();
        let (cancel, cancelled) = channel();
        let (go_on, continued) = sync_channel(0);
        let continued = Mutex::new(continued);
        let delete = |speech: &mut Speech| {
            let filters = json!({ "r_name": "NONE" });
            let arguments = json!({ "table_name": "region", "filters": filters });
            speech.calls(&[("delete_record", arguments)]);
        };
        let model = Model::new(move |question, speech| {
            let is_after_call = !question.results().is_empty();
            match question.message() {
                "fall" if is_after_call => speech.refuses(500, "gone"),
                _ if is_after_call => speech.sends("It is done."),
                "fall" => speech.calls(&[("list_tables", json!({}))]),
                "stall" => {
                    speech.sends("Let me think");
                    speech.stalls();
                    cancel.send(()).unwrap();
                }
                message @ ("wait" | "wait and delete") => {
                    speech.sends("Wait");
                    continued.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                    speech.sends(" for it.");
                    if message != "wait" {
                        delete(speech);
                    }
                }
                "delete" => delete(speech),
                "refuse" => speech.refuses(500, "gone"),
                message => speech.sends(&format!("{}: {message}.", question.turns())),
            }
            drop(send.send(question.message().to_owned()));
        });
        let server = server_with(&model, &path);
        let state = tempfile::tempdir().unwrap();
        Self { _folder: folder, server, messages, cancelled, go_on, state }
    }

    /// A chat, at its first prompt.
    fn chat(&self) -> Terminal {
        let mut terminal = Terminal::run(&self.command());
        terminal.until("20 tools. /help");
        terminal.until(PROMPT);
        terminal
    }

    fn command(&self) -> Command {
        let mut command = trunkline(Path::new("."));
        command.args(["chat", &url(self.server.address)]);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn message(&self) -> String {
        self.messages.recv_timeout(PATIENCE).unwrap()
    }

    /// Cancels a turn, and waits until the server has cancelled it: until then, the conversation is busy.
    fn cancel_turn(&self, chat: &mut Terminal) {
        let mut history = self.server.connect();
        let head = "GET /history/stream?method=agent.chat&status=cancelled HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(history.ask(head).status, 200);
        chat.types("stall\r");
        chat.until("Let me think");
        chat.types("\x03");
        chat.until("cancelled");
        chat.until(PROMPT);
        self.cancelled.recv_timeout(PATIENCE).unwrap();
        while !history.line().starts_with("event: entry") {}
    }
}

#[test]
fn edits_and_saves_lines() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("helo\x1b[Dl\r");
    chat.until("1: hello.");
    chat.until(PROMPT);
    assert_eq!(setup.message(), "hello");
    chat.types(" secret\r");
    chat.until("2: secret.");
    chat.until(PROMPT);
    // Two lines that are pasted are one message.
    chat.types("\x1b[200~two\rlines\x1b[201~\r");
    chat.until("lines.");
    chat.until(PROMPT);
    assert_eq!([setup.message(), setup.message()], ["secret", "two\nlines"]);
    // Two lines that are typed ahead are two.
    chat.types("one\rmore\r");
    chat.until("4: one.");
    chat.until("5: more.");
    chat.until(PROMPT);
    chat.types("/to\tlist_t\t\r");
    chat.until("Lists tables");
    chat.until(PROMPT);
    chat.types("\x04");
    chat.until("--conversation ");
    assert_eq!(chat.end(), (Some(0), true));

    let file = setup.state.path().join("trunkline/chat_history");
    let kept = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = kept.lines().skip(1).collect();
    assert_eq!(lines, ["hello", r"two\nlines", "one", "more", "/tools list_tables"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

    // The next chat loads them.
    let mut chat = setup.chat();
    (0..2).for_each(|_| drop(setup.message()));
    chat.types("\x1b[A\x1b[A\x1b[A!\r");
    chat.until("1: one!.");
    assert_eq!(setup.message(), "one!");
    chat.until(PROMPT);
    chat.types("/quit\r");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn cancels_a_turn() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("first\r");
    chat.until("1: first.");
    chat.until(PROMPT);
    setup.cancel_turn(&mut chat);
    // The conversation is unchanged.
    chat.types("next\r");
    chat.until("2: next.");
    chat.until(PROMPT);
    // At the prompt, the line is cleared.
    chat.types("not sent\x03");
    chat.until("Ctrl-D ends the chat");
    chat.until(PROMPT);
    chat.interrupt_until("Ctrl-D ends the chat");
    chat.until(PROMPT);
    chat.types("/help\r");
    chat.until("//text");
    chat.until(PROMPT);
    chat.types("\x04");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn reports_errors_and_continues() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("refuse\r");
    chat.until("error -32000: The model failed");
    chat.until("kind: refused");
    chat.until(PROMPT);
    chat.types("/tolls\r");
    chat.until("unknown command /tolls; did you mean /tools?");
    chat.until(PROMPT);
    chat.types("again\r");
    chat.until("1: again.");
    chat.until(PROMPT);
    // A turn that fails after a call is saved, and the conversation continues.
    chat.types("/clear\r");
    chat.until(PROMPT);
    chat.types("fall\r");
    chat.until("> list_tables");
    chat.until("error -32000");
    chat.until(PROMPT);
    chat.types("again\r");
    chat.until("2: again.");
    chat.until(PROMPT);
    setup.server.stop();
    chat.types("anyone?\r");
    chat.until("start the server");
    chat.until(PROMPT);
    // SIGTERM ends it while a line is edited.
    chat.signal("TERM");
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn makes_confirmed_calls() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    let proposed = |chat: &mut Terminal| {
        chat.until("delete_record requires confirmation:");
        chat.until("\"r_name\": \"NONE\"");
        chat.until(QUESTION);
    };
    for answer in ["\r", "n\r", "maybe\r", "\x03", "\x04"] {
        chat.types("delete\r");
        proposed(&mut chat);
        chat.types(answer);
        let shown = chat.until("not called");
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
    // A line that was typed before the question does not answer it: it is the next message.
    chat.types("delete\ry\r");
    proposed(&mut chat);
    chat.types("\r");
    chat.until("not called");
    chat.until(": y.");
    chat.until(PROMPT);
    chat.types("\x04");
    assert_eq!(chat.end(), (Some(0), true));
}

const QUESTION: &str = "make this call? [y/N] ";

/// A signal does not confirm, and an answer after the question is a message.
#[test]
fn withdraws_a_question() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.interrupt_until("not called");
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
fn ends_on_sigterm_in_a_turn() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("stall\r");
    chat.until("Let me think");
    chat.signal("TERM");
    setup.cancelled.recv_timeout(PATIENCE).unwrap();
    assert_eq!(chat.end(), (Some(0), true));
}

#[test]
fn reads_the_next_line_while_a_turn_runs() {
    let setup = Setup::new();
    let mut chat = setup.chat();
    chat.types("wait\r");
    chat.until("Wait");
    chat.types("hello\r");
    setup.go_on.send(()).unwrap();
    chat.until(" for it.");
    chat.until("2: hello.");
    chat.until(PROMPT);
    // It does not answer the question.
    chat.types("wait and delete\r");
    chat.until("Wait");
    chat.types("y\r");
    setup.go_on.send(()).unwrap();
    chat.until(QUESTION);
    chat.types("\r");
    chat.until("not called");
    chat.until(PROMPT);
}

/// In a shell with job control.
#[test]
fn shows_the_line_after_a_stop() {
    let setup = Setup::new();
    let chat = setup.command();
    let mut shell = Command::new("sh");
    shell.args(["-c", "set -m; \"$@\"; echo stopped; fg", "sh"]);
    shell.arg(chat.get_program()).args(chat.get_args());
    shell.env("XDG_STATE_HOME", setup.state.path());
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
fn prints_no_escapes_on_a_dumb_terminal() {
    let setup = Setup::new();
    // Where CI is set, libraries may use colours on any terminal.
    let mut chat = Terminal::run(setup.command().env("TERM", "dumb").env("CI", "true"));
    chat.until(PROMPT);
    chat.types("hello\r");
    chat.until("1: hello.");
    chat.until(PROMPT);
    setup.cancel_turn(&mut chat);
    chat.types("delete\r");
    chat.until(QUESTION);
    chat.types("\x04");
    chat.until("not called");
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

/// The call is shown on stdout, like the question.
#[test]
fn asks_without_stderr() {
    let setup = Setup::new();
    let chat = setup.command();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>/dev/null", "sh"]);
    command.arg(chat.get_program()).args(chat.get_args());
    command.env("XDG_STATE_HOME", setup.state.path());
    let mut chat = Terminal::run(&command);
    chat.until(PROMPT);
    chat.types("delete\r");
    chat.until("delete_record requires confirmation:");
    chat.until("\"r_name\": \"NONE\"");
    chat.until(QUESTION);
}

#[test]
fn reports_unknown_conversations() {
    let setup = Setup::new();
    let mut chat = Terminal::run(setup.command().args(["--conversation", "bogus"]));
    chat.until("unknown conversation `bogus`; omit --conversation to begin a new one");
    assert_eq!(chat.end(), (Some(2), true));

    let mut chat = setup.chat();
    chat.types("first\r");
    chat.until("1: first.");
    chat.until(PROMPT);
    let mut other = setup.chat();
    other.types("/conversations\r");
    other.until("title");
    let shown = other.until("  now");
    let id = shown.split_whitespace().last().unwrap();
    let mut third = Terminal::run(setup.command().args(["--conversation", id]));
    third.until("continuing: first");
    other.types(&format!("/delete {id}\r"));
    other.until("deleted");
    chat.types("second\r");
    chat.until("error -32011");
    chat.until("the next message begins a new conversation");
    chat.until(PROMPT);
    chat.types("third\r");
    chat.until("1: third.");
}

#[test]
fn reports_an_unreachable_server() {
    let mut command = trunkline(Path::new("."));
    command.args(["chat", "http://127.0.0.1:1"]);
    let mut chat = Terminal::run(&command);
    chat.until("start the server");
    assert_eq!(chat.end(), (Some(3), true));
}

#[test]
fn renders_markdown() {
    let (_folder, path) = tpch();
    let model = Model::new(|_, speech| {
        let filler = "word ".repeat(20);
        let answer = format!("# Title\n\nSome **bold** text. {filler}\n\n- one `code`\n- two\n\n");
        for piece in (answer + "| id | name |\n|---|---|\n| 1 | a |\n\n```\nx = 1\n```\n")
            .split_inclusive(' ')
        {
            speech.sends(piece);
            // Some of the pieces are shown one by one, and replaced by the next.
            thread::sleep(Duration::from_millis(2));
        }
    });
    let server = server_with(&model, &path);
    let mut command = trunkline(Path::new("."));
    command.args(["chat", &url(server.address)]).env("XDG_STATE_HOME", path.parent().unwrap());
    let mut chat = Terminal::run(&command);
    chat.until(PROMPT);
    chat.types("hello\r");
    let shown = chat.until("  x = 1\n");
    for part in [
        "Title\n\n",
        "Some bold text. word",
        " word\nword ",
        "\n\n• one code\n• two\n\nid  name\n--  ----\n 1  a\n",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    chat.until(PROMPT);
    chat.types("\x04");
    chat.until("chat ended: 1 message, 0 tool calls\ncontinue: trunkline chat http://");
    assert_eq!(chat.end(), (Some(0), true));
}
