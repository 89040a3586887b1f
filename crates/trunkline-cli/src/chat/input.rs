//! Where lines come from: a terminal, or stdin. Both block, so they are read on a thread of their own.

use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::editor::Editor;
use super::lines::Lines;
use crate::call::Failure;

/// What is typed, one by one as it is asked for. The thread ends with it, or with the process.
pub(super) struct Input {
    asks: mpsc::Sender<Ask>,
    typed: UnboundedReceiver<Result<Typed, Failure>>,
}

/// What is asked for.
pub(super) enum Ask {
    Line,
    /// Yes or no. What was typed before the question is no answer to it.
    Consent,
}

/// What has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C; whether there was nothing on the line.
    Interrupted {
        was_empty: bool,
    },
    End,
}

/// What lines are read from.
pub(super) enum Source {
    Terminal(Box<Editor>),
    Stdin(Lines),
}

impl Input {
    pub(super) fn read(mut source: Source) -> Result<Self, Failure> {
        let (asks, asked) = mpsc::channel();
        let (answer, typed) = unbounded_channel();
        let read = move || {
            for ask in asked {
                if answer.send(source.next(&ask)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("input".to_owned()).spawn(read);
        started.map_err(Failure::Output)?;
        Ok(Self { asks, typed })
    }

    /// Waits for what is typed next. At most one thing is asked for at a time.
    pub(super) async fn next(&mut self, ask: Ask) -> Result<Typed, Failure> {
        // A thread that is gone has panicked, and said so.
        if self.asks.send(ask).is_err() {
            return Ok(Typed::End);
        }
        self.typed.recv().await.unwrap_or(Ok(Typed::End))
    }
}

impl Source {
    fn next(&mut self, ask: &Ask) -> Result<Typed, Failure> {
        match (self, ask) {
            (Self::Terminal(editor), Ask::Line) => editor.line(),
            (Self::Terminal(_), Ask::Consent) => Editor::consent(),
            (Self::Stdin(lines), _) => lines.next(),
        }
    }
}
