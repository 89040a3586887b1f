use std::cell::Cell;
use std::io::{ErrorKind, stdin};
use std::path::PathBuf;

use rustix::termios::{QueueSelector, tcflush};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, MemHistory};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Helper};

use super::completion::Completion;
use super::history_file;
use super::input::Typed;
use super::paint::Paint;
use crate::call::Failure;
use crate::output;

/// Lines of a terminal, with editing and with those of earlier chats.
pub(super) struct Editor {
    editor: rustyline::Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

const PROMPT: &str = "chat> ";
const QUESTION: &str = "make this call? [y/N] ";

/// How many lines are kept.
const KEPT: usize = 1_000;

/// A longer one is not kept: it was pasted.
const LONGEST_KEPT: usize = 16 << 10;

impl Editor {
    pub(super) fn open(completion: Completion, paint: Paint) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(KEPT).map_err(failed)?;
        let config = config.history_ignore_space(true).history_ignore_dups(true).map_err(failed)?;
        let config = config.completion_type(CompletionType::List);
        let mut editor = rustyline::Editor::with_config(config.build()).map_err(failed)?;
        editor.set_helper(Some(Assistant { completion, paint, is_empty: Cell::new(true) }));
        let mut this = Self { editor, history: history_file::path() };
        this.load();
        Ok(this)
    }

    pub(super) fn line(&mut self) -> Result<Typed, Failure> {
        match self.editor.readline(PROMPT) {
            Ok(line) => {
                self.keep(&line);
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => {
                let was_empty = self.editor.helper().is_some_and(|helper| helper.is_empty.get());
                Ok(Typed::Interrupted { was_empty })
            }
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// Asks a question. What was typed ahead was meant for something else: it is thrown away, and what this
    /// editor has read of it is not looked at.
    pub(super) fn consent() -> Result<Typed, Failure> {
        tcflush(stdin(), QueueSelector::IFlush).map_err(|error| Failure::Output(error.into()))?;
        let config = Config::default();
        let asking = rustyline::Editor::<(), _>::with_history(config, MemHistory::new());
        match asking.map_err(failed)?.readline(QUESTION) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted { was_empty: true }),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    fn load(&mut self) {
        let Some(path) = &self.history else { return };
        match self.editor.load_history(path) {
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                if let Err(error) = history_file::make_directory(path) {
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
    /// Whether there is nothing on the line.
    is_empty: Cell<bool>,
}

impl Helper for Assistant {}
impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;

    /// Hints at nothing: it is only told what is on the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.is_empty.set(line.is_empty());
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
