//! The progress of a command in a line on the terminal.

use std::time::Instant;

use crate::terminal::{StatusLine, progress_bar};

/// The progress so far.
pub(super) struct Progress {
    line: StatusLine,
    started: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { line: StatusLine::new(), started: Instant::now() }
    }

    /// Shows a text such as `12 rows`, and the speed.
    pub(super) fn set(&self, text: impl Fn() -> String, bytes: u64) {
        self.line.set(|_| text() + &self.speed(bytes));
    }

    /// Shows a bar as well. The parts are of any unit.
    pub(super) fn set_share(&self, text: impl Fn() -> String, done: u64, all: u64) {
        self.line.set(|columns| {
            let mut parts = progress_bar(done as f64 / all.max(1) as f64, columns);
            parts.push(text());
            parts.join(" ")
        });
    }

    fn speed(&self, bytes: u64) -> String {
        match self.seconds() {
            seconds if seconds > 1.0 => format!(", {:.1} MB/s", bytes as f64 / 1e6 / seconds),
            _ => String::new(),
        }
    }

    pub(super) fn clear(&self) {
        self.line.clear();
    }

    /// The time since the beginning, for a summary.
    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
