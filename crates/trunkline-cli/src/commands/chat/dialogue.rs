//! A chat with a person at a terminal.

use std::io;

use rustix::process;
use tokio::signal::unix::{Signal, SignalKind, signal};
use trunkline::client::http::Url;

use super::command::{Command, Line};
use super::editor::{PROMPT, Redraw};
use super::input::Input;
use super::lines::Typed;
use super::question::QUESTION;
use super::session::{Flow, Session};
use super::terminal::{self, Terminal};
use crate::terminal::Failure;
use crate::terminal::output;

pub(super) struct Dialogue {
    session: Session,
    input: Input,
    redraw: Redraw,
    terminal: Terminal,
    signals: Signals,
}

/// Those that matter while something is waited for.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The process was stopped, and goes on.
    resume: Signal,
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
    session.tell_resumed().await
}

impl Dialogue {
    pub(super) fn new(session: Session, input: Input, redraw: Redraw) -> io::Result<Self> {
        let signals = Signals::new()?;
        Ok(Self { session, input, redraw, terminal: Terminal::of_stdin(), signals })
    }

    /// Goes on until the person ends it. What fails is told.
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        self.converse().await?;
        let Self { mut session, terminal, .. } = self;
        drop(terminal);
        if let Some(id) = session.conversation() {
            let text = format!("trunkline chat --conversation {id} goes on with this one");
            session.view.note(&text);
        }
        Ok(())
    }

    async fn converse(&mut self) -> Result<(), Failure> {
        let mut was_interrupted = false;
        loop {
            match self.line().await? {
                Waited::Done(Typed::Line(line)) => match self.take(&line).await {
                    Ok(Flow::GoesOn) => {}
                    Ok(Flow::Ends) => return Ok(()),
                    Err(failure @ Failure::Output(_)) => return Err(failure),
                    Err(failure) => self.session.failed(&failure),
                },
                Waited::Done(Typed::Interrupted { was_empty: false }) => {}
                Waited::Done(Typed::Interrupted { .. }) | Waited::Interrupted
                    if was_interrupted =>
                {
                    return Ok(());
                }
                Waited::Done(Typed::Interrupted { .. }) | Waited::Interrupted => {
                    self.session.view.note("Ctrl-C once more, or Ctrl-D, ends the chat");
                    was_interrupted = true;
                    continue;
                }
                Waited::Done(Typed::End) | Waited::Terminated => return Ok(()),
            }
            was_interrupted = false;
        }
    }

    /// Does what a line asks for, and makes the calls that are consented to then.
    async fn take(&mut self, line: &str) -> Result<Flow, Failure> {
        let mut flow = self.act(Line::parse(line)).await?;
        while flow == Flow::GoesOn && self.session.show_pending().map_err(Failure::Output)? {
            match self.consent().await? {
                Waited::Done(true) => {
                    flow = self.act(Line::Command(Command::Confirm(None))).await?;
                }
                Waited::Done(false) | Waited::Interrupted => {
                    self.session.view.note(
                        "not made; /confirm still makes it, for 10 minutes and until something else is said",
                    );
                    return Ok(Flow::GoesOn);
                }
                Waited::Terminated => {
                    self.session.view.note("not made");
                    return Ok(Flow::Ends);
                }
            }
        }
        Ok(flow)
    }

    /// Does it, unless it is cancelled.
    async fn act(&mut self, line: Line<'_>) -> Result<Flow, Failure> {
        let waited = {
            let _deaf = self.terminal.deafen();
            self.signals.before(self.session.take(line), || Ok(())).await
        };
        match waited.map_err(Failure::Output)? {
            Waited::Done(done) => done,
            Waited::Interrupted => {
                self.session.cancelled().map_err(Failure::Output)?;
                Ok(Flow::GoesOn)
            }
            Waited::Terminated => {
                self.session.cancelled().map_err(Failure::Output)?;
                Ok(Flow::Ends)
            }
        }
    }

    /// The next line.
    async fn line(&mut self) -> Result<Waited<Typed>, Failure> {
        if self.input.is_reading() {
            output::data(PROMPT).map_err(Failure::Output)?;
        }
        loop {
            let resumed = || match terminal::is_plain() {
                true => output::data(PROMPT),
                false => {
                    self.redraw.ask();
                    Ok(())
                }
            };
            let waited = self.signals.before(self.input.line(), resumed).await;
            return Ok(match waited.map_err(Failure::Output)? {
                Waited::Done(typed) => Waited::Done(typed?),
                // The editor has not begun, or has ended: it shows the line by itself.
                Waited::Interrupted if self.redraw.take() => continue,
                Waited::Interrupted => Waited::Interrupted,
                Waited::Terminated => Waited::Terminated,
            });
        }
    }

    /// Whether the call is to be made.
    async fn consent(&mut self) -> Result<Waited<bool>, Failure> {
        let resumed = || output::data(QUESTION);
        let waited = self.signals.before(self.input.consent(), resumed).await;
        let waited = match waited.map_err(Failure::Output)? {
            Waited::Done(given) => Waited::Done(given?),
            Waited::Interrupted => Waited::Interrupted,
            Waited::Terminated => Waited::Terminated,
        };
        Ok(waited)
    }
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            resume: signal(SignalKind::from_raw(process::Signal::CONT.as_raw()))?,
        })
    }

    /// Waits. To be interrupted, or to have been stopped, matters from now on; to be terminated always.
    async fn before<T>(
        &mut self,
        waited: impl Future<Output = T>,
        mut resumed: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Waited<T>> {
        self.interrupt = signal(SignalKind::interrupt())?;
        self.resume = signal(SignalKind::from_raw(process::Signal::CONT.as_raw()))?;
        tokio::pin!(waited);
        loop {
            return Ok(tokio::select! {
                biased;
                _ = self.terminate.recv() => Waited::Terminated,
                _ = self.interrupt.recv() => Waited::Interrupted,
                _ = self.resume.recv() => {
                    resumed()?;
                    continue;
                }
                done = &mut waited => Waited::Done(done),
            });
        }
    }
}
