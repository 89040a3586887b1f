//! Where lines come from: a terminal, or stdin. Both block, so they are read on a thread of their own.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::editor::Editor;
use super::lines::{Lines, Typed};
use super::question::{Question, question};
use crate::terminal::Failure;

/// What is typed, one by one as it is asked for. The thread ends with it, or with the process.
pub(super) struct Input {
    asks: mpsc::Sender<Ask>,
    /// The line that was asked for and has not come.
    line: Option<oneshot::Receiver<Result<Typed, Failure>>>,
}

/// What is asked for. Each has an answer of its own: one that comes late is not taken for another's.
enum Ask {
    Line(oneshot::Sender<Result<Typed, Failure>>),
    Consent(Question, oneshot::Sender<Result<bool, Failure>>),
}

/// What lines are read from.
pub(super) enum Source {
    Terminal(Box<Editor>),
    Stdin(Lines),
}

impl Input {
    pub(super) fn read(mut source: Source) -> Result<Self, Failure> {
        let (asks, asked) = mpsc::channel();
        let read = move || {
            for ask in asked {
                // Who does not wait any more needs no answer.
                match ask {
                    Ask::Line(typed) => drop(typed.send(source.line())),
                    Ask::Consent(question, given) => {
                        drop(given.send(question.is_affirmed().map_err(Failure::Output)));
                    }
                }
            }
        };
        let started = thread::Builder::new().name("input".to_owned()).spawn(read);
        started.map_err(Failure::Output)?;
        Ok(Self { asks, line: None })
    }

    /// Waits for the next line.
    ///
    /// # Cancel safety
    ///
    /// The line is still read, and is the next one.
    pub(super) async fn line(&mut self) -> Result<Typed, Failure> {
        let line = self.line.take().unwrap_or_else(|| {
            let (typed, line) = oneshot::channel();
            // A thread that is gone has panicked, and said so.
            drop(self.asks.send(Ask::Line(typed)));
            line
        });
        let typed = self.line.insert(line).await;
        self.line = None;
        typed.unwrap_or(Ok(Typed::End))
    }

    /// Whether a line is read that nobody waits for.
    pub(super) fn is_reading(&self) -> bool {
        self.line.is_some()
    }

    /// Asks for consent to a call. What was typed before the question is no answer to it.
    ///
    /// # Cancel safety
    ///
    /// The question is withdrawn, and no answer to it is looked at.
    pub(super) async fn consent(&self) -> Result<bool, Failure> {
        let (asker, question) = question().map_err(Failure::Output)?;
        let (given, consent) = oneshot::channel();
        drop(self.asks.send(Ask::Consent(question, given)));
        let consent = consent.await;
        drop(asker);
        consent.unwrap_or(Ok(false))
    }
}

impl Source {
    fn line(&mut self) -> Result<Typed, Failure> {
        match self {
            Self::Terminal(editor) => editor.line(),
            Self::Stdin(lines) => lines.next(),
        }
    }
}
