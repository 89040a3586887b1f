use std::io;
use std::sync::{Arc, Mutex};

use super::files::Files;
use crate::entry::Entry;
use crate::queue::{Logged, Queue, lock};
use crate::stats::Counters;

/// The state of the log, shared with its handles.
pub(super) struct State {
    pub(super) counters: Counters,
    /// The name of the current file.
    pub(super) current: String,
}

/// The writer of entries.
pub(super) struct Writer {
    queue: Arc<Queue<Logged>>,
    files: Files,
    state: Arc<Mutex<State>>,
    /// The pending lines, and their number of entries.
    lines: Vec<u8>,
    entries: u64,
}

/// The number of pending bytes that triggers a write.
const CHUNK: usize = 256 << 10;

impl Writer {
    pub(super) fn new(queue: Arc<Queue<Logged>>, files: Files) -> Self {
        let state = State { counters: Counters::new(), current: files.current() };
        let state = Arc::new(Mutex::new(state));
        Self { queue, files, state, lines: Vec::new(), entries: 0 }
    }

    /// The shared state.
    pub(super) fn state(&self) -> Arc<Mutex<State>> {
        Arc::clone(&self.state)
    }

    /// Writes all items.
    pub(super) fn write_all(&mut self, items: Vec<Logged>) {
        self.count(&items);
        for item in items {
            match item {
                Logged::Entry(entry) => self.entry(&entry),
                Logged::Lost(lost) => {
                    let line = format!("{{\"lost\":{}}}", lost.lost());
                    self.line(|lines| lines.extend(line.bytes()));
                }
            }
        }
        self.write();
    }

    fn count(&self, items: &[Logged]) {
        let counters = &mut lock(&self.state).counters;
        for item in items {
            match item {
                Logged::Entry(entry) => counters.count(entry),
                Logged::Lost(lost) => counters.add(lost),
            }
        }
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
        lock(&self.state).current = self.files.current();
        match written {
            Ok(()) if self.lines.is_empty() => {}
            Ok(()) => drop(self.queue.set_problem(None)),
            Err(error) => {
                lock(&self.state).counters.count_unwritten(self.entries);
                self.report(&error);
            }
        }
        self.lines.clear();
        self.entries = 0;
    }

    /// Logs an error once, until writing succeeds again.
    fn report(&self, error: &io::Error) {
        if self.queue.set_problem(Some(error.to_string())) {
            tracing::warn!(%error, "failed to write entries to the log");
        }
    }
}
