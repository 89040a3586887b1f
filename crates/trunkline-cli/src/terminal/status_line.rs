//! A status at the end of stderr, such as a progress bar, which later output replaces.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{output, text};

/// A line of status on stderr. It is shown only if stderr is a terminal with escape sequences.
#[derive(Debug)]
pub(crate) struct StatusLine {
    is_live: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    status: String,
    is_shown: bool,
    /// Whether the terminal shows an earlier status.
    is_stale: bool,
    drawn: Option<Instant>,
    /// The number of pauses.
    pauses: usize,
}

/// The minimum time between two statuses.
const PERIOD: Duration = Duration::from_millis(100);

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { is_live: stderr().is_terminal() && !output::is_dumb(), state: Mutex::default() }
    }

    /// Sets the status. `render` gets the number of columns, and returns one line.
    pub(crate) fn set(&self, render: impl FnOnce(usize) -> String) {
        if !self.is_live {
            return;
        }
        // A character in the last column may begin a new line.
        let columns = columns().saturating_sub(1);
        let mut state = self.state();
        state.status = text::cut(&render(columns), columns).into_owned();
        state.is_stale = true;
        if state.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD) {
            state.draw();
        }
    }

    /// Keeps the line up to date. It does not end.
    pub(crate) async fn refresh(&self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.state().draw();
        }
    }

    /// Removes the status.
    pub(crate) fn clear(&self) {
        let mut state = self.state();
        state.erase();
        state.is_stale = false;
    }

    /// Prints lines on stderr above the status.
    pub(crate) fn message(&self, lines: &str) {
        let mut state = self.state();
        state.erase();
        output::message(lines);
        state.draw();
    }

    /// Hides the status while the returned guard exists.
    pub(crate) fn pause(&self) -> Pause<'_> {
        let mut state = self.state();
        state.erase();
        state.pauses += 1;
        Pause(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn draw(&mut self) {
        if self.pauses == 0 && std::mem::take(&mut self.is_stale) {
            // The earlier status is overwritten, so that the line does not flicker.
            output::message(&format!("\r{}\x1b[K", self.status));
            self.is_shown = true;
            self.drawn = Some(Instant::now());
        }
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            output::message("\r\x1b[K");
            self.is_stale = true;
        }
    }
}

/// Hides a status.
pub(crate) struct Pause<'s>(&'s StatusLine);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.state().pauses -= 1;
    }
}

/// The width of stderr.
fn columns() -> usize {
    /// The width of a terminal that does not report its own.
    const DEFAULT_WIDTH: usize = 80;
    match terminal_size::terminal_size_of(stderr()) {
        Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
        _ => DEFAULT_WIDTH,
    }
}
