//! A chat on a terminal.

use std::io::{self, ErrorKind, Write, stdin, stdout};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::{env, process};

use anstyle::Style;
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, DefaultEditor};
use tokio::runtime::Runtime;
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};
use trunkline::client::http::Url;
use trunkline::history::private_file::create_folder;

use super::command::{Command, Line};
use super::completion::Completion;
use super::session::Session;
use crate::terminal::{Failure, output};

const PROMPT: &str = "chat> ";

/// The question before a call that requires confirmation.
const QUESTION: &str = "make this call? [y/N] ";

/// The number of lines in the history.
const MAX_HISTORY: usize = 1_000;

/// Reads lines until the chat is ended. Errors are shown, and the chat continues.
pub(super) struct Dialogue<'r> {
    runtime: &'r Runtime,
    session: Session,
    /// The address on the command line, with a blank after it.
    address: String,
}

type Editor = rustyline::Editor<Completion, FileHistory>;

impl<'r> Dialogue<'r> {
    pub(super) fn new(runtime: &'r Runtime, session: Session, address: String) -> Self {
        Self { runtime, session, address }
    }

    pub(super) fn run(mut self, url: &Url, completion: Completion) -> Result<(), Failure> {
        exit_on_sigterm(self.runtime).map_err(Failure::Output)?;
        let greeted = until_ctrl_c(self.runtime, self.session.greet(url));
        let Some(()) = greeted.transpose()? else { return Ok(()) };
        let mut editor = editor(completion).map_err(unreadable)?;
        let mut history = history_file(&mut editor);
        let bold = Style::new().bold();
        let prompt = (PROMPT, format!("{bold}{PROMPT}{bold:#}"));
        loop {
            let line = match editor.readline(&prompt) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    self.session.view.note("Ctrl-D ends the chat");
                    continue;
                }
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(unreadable(error)),
            };
            if let Some(Err(error)) = history.as_ref().map(|path| editor.append_history(path)) {
                report_no_history(history.take(), &error);
            }
            match self.execute(&line) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(failure @ Failure::Output(_)) => return Err(failure),
                Err(failure) => self.session.show_failure(&failure),
            }
        }
        for line in self.session.summary(&self.address).into_iter().flatten() {
            self.session.view.note(&line);
        }
        Ok(())
    }

    /// Executes a line, and the calls that are confirmed after it.
    fn execute(&mut self, line: &str) -> Result<ControlFlow<()>, Failure> {
        let mut flow = self.act(Line::parse(line))?;
        while flow.is_continue() && self.session.show_pending().map_err(Failure::Output)? {
            if !is_confirmed()? {
                self.session.view.note(
                    "not called; /confirm calls it within 10 minutes, before the next message",
                );
                break;
            }
            flow = self.act(Line::Command(Command::Confirm(None)))?;
        }
        Ok(flow)
    }

    fn act(&mut self, line: Line<'_>) -> Result<ControlFlow<()>, Failure> {
        until_ctrl_c(self.runtime, self.session.execute(line)).unwrap_or_else(|| {
            self.session.show_cancelled().map_err(Failure::Output)?;
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// The output of the future; `None` if Ctrl-C cancels it.
fn until_ctrl_c<T>(runtime: &Runtime, work: impl Future<Output = T>) -> Option<T> {
    runtime.block_on(async {
        tokio::select! {
            done = work => Some(done),
            _ = ctrl_c() => None,
        }
    })
}

/// Asks whether to make the pending call. Input from before the question does not answer it: it is discarded, or left
/// to the editor of messages, which has read it.
fn is_confirmed() -> Result<bool, Failure> {
    // If the terminal is gone, the question fails as well.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
    match DefaultEditor::new().and_then(|mut editor| editor.readline(QUESTION)) {
        Ok(answer) => Ok(["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(false),
        Err(error) => Err(unreadable(error)),
    }
}

/// Restores the terminal and exits on SIGTERM, also while a line is edited.
fn exit_on_sigterm(runtime: &Runtime) -> io::Result<()> {
    const END_BRACKETED_PASTE: &[u8] = b"\x1b[?2004l\r\n";
    let _context = runtime.enter();
    let mut terminate = signal(SignalKind::terminate())?;
    let modes = tcgetattr(stdin())?;
    runtime.spawn(async move {
        terminate.recv().await;
        let is_edited =
            tcgetattr(stdin()).is_ok_and(|now| !now.local_modes.contains(LocalModes::ICANON));
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
        if is_edited {
            let _ = stdout().write_all(END_BRACKETED_PASTE);
        }
        process::exit(0);
    });
    Ok(())
}

fn editor(completion: Completion) -> rustyline::Result<Editor> {
    let config = Config::builder()
        .max_history_size(MAX_HISTORY)?
        .history_ignore_space(true)
        .auto_add_history(true)
        .completion_type(CompletionType::List);
    let mut editor = Editor::with_config(config.build())?;
    editor.set_helper(Some(completion));
    Ok(editor)
}

fn unreadable(error: ReadlineError) -> Failure {
    Failure::Message(format!("trunkline: cannot read the terminal: {error}\n"))
}

/// Loads the lines of earlier chats. Returns `None` if the file cannot be read and written.
fn history_file(editor: &mut Editor) -> Option<PathBuf> {
    let path = history_path()?;
    let loaded = match editor.load_history(&path) {
        Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), create_folder).map_err(ReadlineError::Io)
        }
        loaded => loaded,
    };
    match loaded {
        Ok(()) => Some(path),
        Err(error) => {
            report_no_history(Some(path), &error);
            None
        }
    }
}

/// `trunkline/chat_history` in the user's state directory, as the XDG Base Directory Specification defines it;
/// `None` if that directory is unknown.
fn history_path() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")));
    let path = state?.join("trunkline/chat_history");
    path.is_absolute().then_some(path)
}

/// Reports that the chat continues without the file.
fn report_no_history(path: Option<PathBuf>, error: &ReadlineError) {
    let path = path.unwrap_or_default();
    let text = format!("trunkline: cannot save lines in {}: {error}\n", path.display());
    output::message(&text);
}
