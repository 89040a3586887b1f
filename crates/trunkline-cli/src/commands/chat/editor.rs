use std::cell::RefCell;
use std::env;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, ExternalPrinter, Helper};

use super::completion::Completion;
use super::lines::Typed;
use super::paint::Paint;
use crate::terminal::Failure;
use crate::terminal::output;

/// Requests that the editor shows its line again, after another program has used the terminal.
#[derive(Debug, Clone, Default)]
pub(super) struct Redraw(Arc<AtomicBool>);

impl Redraw {
    /// Sends SIGINT: only that signal interrupts the editor.
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
        let _ = kill_process(getpid(), Signal::INT);
    }

    /// Whether a redraw was requested since the last call: then the signal was not Ctrl-C.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Lines of a terminal, with editing and with those of earlier chats.
pub(super) struct Editor {
    editor: rustyline::Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
    redraw: Redraw,
    /// While there is one, the editor sees signals as they come, and not only with the next key.
    _attention: Option<Box<dyn ExternalPrinter + Send>>,
}

pub(super) const PROMPT: &str = "chat> ";

/// How many lines are kept.
const KEPT: usize = 1_000;

/// A longer one is not kept: it was pasted.
const LONGEST_KEPT: usize = 16 << 10;

impl Editor {
    pub(super) fn open(
        completion: Completion,
        paint: Paint,
        redraw: Redraw,
    ) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(KEPT).map_err(failed)?;
        let config = config.history_ignore_space(true).history_ignore_dups(true).map_err(failed)?;
        let config = config.completion_type(CompletionType::List);
        let mut editor = rustyline::Editor::with_config(config.build()).map_err(failed)?;
        editor.set_helper(Some(Assistant { completion, paint, typed: RefCell::default() }));
        let printer = editor.create_external_printer();
        // Where lines are not edited, there is none.
        let attention = printer.ok().map(|printer| Box::new(printer) as Box<_>);
        let history = history_path();
        let mut this = Self { editor, history, redraw, _attention: attention };
        this.load();
        Ok(this)
    }

    pub(super) fn line(&mut self) -> Result<Typed, Failure> {
        let mut typed = String::new();
        loop {
            match self.editor.readline_with_initial(PROMPT, (&typed, "")) {
                Ok(line) => {
                    self.keep(&line);
                    return Ok(Typed::Line(line));
                }
                Err(ReadlineError::Interrupted) => {
                    typed = self.editor.helper().map(Assistant::typed).unwrap_or_default();
                    if !self.redraw.take() {
                        let was_empty = typed.is_empty();
                        return Ok(Typed::Interrupted { was_empty });
                    }
                }
                Err(ReadlineError::Eof) => return Ok(Typed::End),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn load(&mut self) {
        let Some(path) = &self.history else { return };
        match self.editor.load_history(path) {
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                if let Err(error) = make_directory(path) {
                    self.give_up(&error);
                }
            }
            Err(error) => self.give_up(&error),
            Ok(()) => {}
        }
    }

    /// Adds a line to those of earlier chats.
    fn keep(&mut self, line: &str) {
        if line.len() > LONGEST_KEPT || line.trim().is_empty() {
            return;
        }
        let added = self.editor.add_history_entry(line);
        let Some(path) = self.history.as_ref().filter(|_| matches!(added, Ok(true))) else {
            return;
        };
        if let Err(error) = self.editor.append_history(path) {
            self.give_up(&error);
        }
    }

    /// Chats go on without the file.
    fn give_up(&mut self, error: &dyn std::error::Error) {
        if let Some(path) = self.history.take() {
            let path = path.display();
            output::complain(&format!("trunkline: lines are not kept in {path}: {error}\n"));
        }
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::Told(format!("trunkline: the terminal cannot be read: {error}\n"))
}

/// What helps while a line is typed.
struct Assistant {
    completion: Completion,
    paint: Paint,
    /// What is on the line.
    typed: RefCell<String>,
}

impl Assistant {
    fn typed(&self) -> String {
        self.typed.borrow().clone()
    }
}

impl Helper for Assistant {}
impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;

    /// Hints at nothing: it is only told what is on the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        line.clone_into(&mut self.typed.borrow_mut());
        None
    }
}

impl Highlighter for Assistant {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _: bool,
    ) -> std::borrow::Cow<'b, str> {
        self.paint.prompt(prompt)
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completion.of(&line[..at]))
    }
}

/// `trunkline/chat_history` in the user's state directory, as the XDG Base Directory Specification defines it;
/// `None` if that directory is unknown.
fn history_path() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| set("HOME").map(|home| home.join(".local/state")));
    let path = state?.join("trunkline/chat_history");
    path.is_absolute().then_some(path)
}

/// Creates the directory of the file, for its owner only.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    path.parent().map_or(Ok(()), |directory| builder.create(directory))
}
