use std::io;
use std::sync::{Arc, Mutex};

use super::files::Files;
use crate::entry::Entry;
use crate::queue::Queue;
use crate::queue::lock;
use crate::stats::Counters;

/// The state of the log, shared with its handles.
pub(super) struct State {
    pub(super) counters: Counters,
    /// The name of the current file.
    pub(super) current: String,
    /// The reason why the last lines were not written.
    pub(super) problem: Option<String>,
}

/// The writer of entries, on a dedicated thread.
pub(super) struct Writer {
    queue: Arc<Queue>,
    files: Files,
    state: Arc<Mutex<State>>,
    /// The pending lines, and their number of entries.
    lines: Vec<u8>,
    entries: u64,
}

/// The number of pending bytes that triggers a write.
const CHUNK: usize = 256 << 10;

impl Writer {
    pub(super) fn new(queue: Arc<Queue>, files: Files) -> Self {
        let state = State { counters: Counters::new(), current: files.current(), problem: None };
        let state = Arc::new(Mutex::new(state));
        Self { queue, files, state, lines: Vec::new(), entries: 0 }
    }

    /// The shared state.
    pub(super) fn state(&self) -> Arc<Mutex<State>> {
        Arc::clone(&self.state)
    }

    /// Writes entries until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let mut entries = Vec::new();
        loop {
            let taken = self.queue.take(&mut entries);
            self.count(&entries, taken.lost.as_deref());
            for entry in entries.drain(..) {
                self.entry(&entry);
            }
            if let Some(lost) = taken.lost {
                let line = format!("{{\"lost\":{}}}", lost.lost());
                self.line(|lines| lines.extend(line.bytes()));
            }
            self.write();
            if taken.is_last {
                return;
            }
        }
    }

    fn count(&self, entries: &[Arc<Entry>], lost: Option<&Counters>) {
        let counters = &mut lock(&self.state).counters;
        entries.iter().for_each(|entry| counters.count(entry));
        lost.into_iter().for_each(|lost| counters.add(lost));
    }

    fn entry(&mut self, entry: &Entry) {
        self.line(|lines| {
            serde_json::to_writer(lines, entry).expect("the parts of an entry are JSON");
        });
        self.entries += 1;
        if self.lines.len() >= CHUNK {
            self.write();
        }
    }

    /// Adds a line, to the next part of the log if the current one is full.
    fn line(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.lines.len();
        put(&mut self.lines);
        self.lines.push(b'\n');
        if self.files.is_full_for(self.lines.len() - start, start) {
            let line = self.lines.split_off(start);
            self.write();
            if let Err(error) = self.files.rotate() {
                // The log continues in the current file.
                self.report(&error);
            }
            lock(&self.state).current = self.files.current();
            self.lines = line;
        }
    }

    fn write(&mut self) {
        let written = self.files.write(&self.lines);
        let mut state = lock(&self.state);
        state.current = self.files.current();
        match written {
            Ok(()) if self.lines.is_empty() => {}
            Ok(()) => state.problem = None,
            Err(error) => {
                state.counters.count_unwritten(self.entries);
                drop(state);
                self.report(&error);
            }
        }
        self.lines.clear();
        self.entries = 0;
    }

    /// Logs an error once, until writing succeeds again.
    fn report(&self, error: &io::Error) {
        if lock(&self.state).problem.replace(error.to_string()).is_none() {
            tracing::warn!(%error, "failed to write entries to the log");
        }
    }
}
