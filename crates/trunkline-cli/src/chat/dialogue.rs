//! A chat with a person at a terminal.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use trunkline::client::http::Url;

use super::command::{Command, Line};
use super::input::{Ask, Input, Typed};
use super::session::{Flow, Session};
use super::terminal::Terminal;
use crate::call::Failure;

pub(super) struct Dialogue {
    session: Session,
    input: Input,
    terminal: Terminal,
}

/// How what is waited for has ended.
enum Waited<T> {
    Done(T),
    /// Ctrl-C, while the terminal gives signals.
    Interrupted,
    /// The process is to end.
    Terminated,
}

/// Asks a server whether it is there, and tells a person what to do now.
pub(super) async fn greet(session: &mut Session, url: &Url) -> Result<(), Failure> {
    let tools = match session.tools().await?.names().count() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    session.view.note(&format!("{url}: {tools}. /help lists commands, Ctrl-D ends the chat."));
    Ok(())
}

impl Dialogue {
    pub(super) fn new(session: Session, input: Input) -> Self {
        Self { session, input, terminal: Terminal::of_stdin() }
    }

    /// Goes on until the person ends it. What fails is told.
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let mut was_interrupted = false;
        loop {
            match self.ask(Ask::Line).await? {
                Typed::Line(line) => match self.take(&line).await {
                    Ok(Flow::GoesOn) => {}
                    Ok(Flow::Ends) => break,
                    Err(failure @ Failure::Output(_)) => return Err(failure),
                    Err(failure) => self.session.view.failure(&failure),
                },
                Typed::Interrupted { was_empty: true } if was_interrupted => break,
                Typed::Interrupted { was_empty: true } => {
                    self.session.view.note("Ctrl-C once more, or Ctrl-D, ends the chat");
                    was_interrupted = true;
                    continue;
                }
                Typed::Interrupted { was_empty: false } => {}
                Typed::End => break,
            }
            was_interrupted = false;
        }
        if let Some(id) = self.session.conversation() {
            let text = format!("trunkline chat --conversation {id} goes on with this one");
            self.session.view.note(&text);
        }
        Ok(())
    }

    /// Does what a line asks for, and makes the calls that are consented to then.
    async fn take(&mut self, line: &str) -> Result<Flow, Failure> {
        let mut flow = self.act(Line::parse(line)).await?;
        while flow == Flow::GoesOn && self.session.tell_pending(false) {
            let consent = self.ask(Ask::Consent).await?;
            if !matches!(&consent, Typed::Line(line) if is_yes(line)) {
                self.session.view.note(
                    "not made; /confirm still makes it, for 10 minutes and until something else is said",
                );
                return Ok(Flow::GoesOn);
            }
            flow = self.act(Line::Command(Command::Confirm(None))).await?;
        }
        Ok(flow)
    }

    /// Does it, unless it is cancelled.
    async fn act(&mut self, line: Line<'_>) -> Result<Flow, Failure> {
        match until_signal(self.session.take(line)).await.map_err(Failure::Output)? {
            Waited::Done(done) => done,
            Waited::Interrupted => {
                self.session.cancelled().map_err(Failure::Output)?;
                Ok(Flow::GoesOn)
            }
            Waited::Terminated => Ok(Flow::Ends),
        }
    }

    async fn ask(&mut self, ask: Ask) -> Result<Typed, Failure> {
        match until_signal(self.input.next(ask)).await.map_err(Failure::Output)? {
            Waited::Done(typed) => typed,
            Waited::Interrupted | Waited::Terminated => {
                self.terminal.restore();
                Ok(Typed::End)
            }
        }
    }
}

fn is_yes(line: &str) -> bool {
    ["y", "yes"].iter().any(|yes| line.trim().eq_ignore_ascii_case(yes))
}

/// Waits. A signal from now on drops what is waited for; one from before is forgotten.
async fn until_signal<T>(waited: impl Future<Output = T>) -> io::Result<Waited<T>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        biased;
        _ = terminate.recv() => Waited::Terminated,
        _ = interrupt.recv() => Waited::Interrupted,
        done = waited => Waited::Done(done),
    })
}
