use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use super::PATIENCE;

/// The output of a process, by lines. It is read at once, so that the process never blocks.
pub(super) struct Pipe {
    lines: Receiver<String>,
    seen: String,
}

impl Pipe {
    pub(super) fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if line.is_err() || sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { lines, seen: String::new() }
    }

    /// Waits for a line. None if the process ends without it.
    pub(super) fn find(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen += &line;
                    self.seen.push('\n');
                    if is_wanted(&line) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the process is silent after {}", self.seen)
                }
            }
        }
    }

    /// The whole output, after the process has ended.
    pub(super) fn rest(&mut self) -> String {
        self.find(|_| false);
        std::mem::take(&mut self.seen)
    }

    /// The output up to the last line that was waited for.
    pub(super) fn seen(&self) -> &str {
        &self.seen
    }
}
