use std::io;
use std::sync::{Arc, Mutex};

use super::files::Files;
use crate::entry::Entry;
use crate::queue::Queue;
use crate::queue::lock;
use crate::stats::Counters;

/// What writes entries behind their calls, on a thread of its own.
pub(super) struct Writer {
    queue: Arc<Queue>,
    files: Files,
    counters: Arc<Mutex<Counters>>,
    /// Lines that were not written yet, and how many entries they tell of.
    lines: Vec<u8>,
    entries: u64,
    problem: Arc<Mutex<Option<String>>>,
}

/// What is written at a time.
const CHUNK: usize = 256 << 10;

impl Writer {
    pub(super) fn new(queue: Arc<Queue>, files: Files, counters: Arc<Mutex<Counters>>) -> Self {
        let problem = Arc::default();
        Self { queue, files, counters, lines: Vec::new(), entries: 0, problem }
    }

    /// Why the last lines were not written, as it changes.
    pub(super) fn problem(&self) -> Arc<Mutex<Option<String>>> {
        Arc::clone(&self.problem)
    }

    /// Writes until the queue is closed and all that was recorded before is written.
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
        let mut counters = lock(&self.counters);
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

    /// Adds a line, in the next part of the log if the current one has no room for it.
    fn line(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.lines.len();
        put(&mut self.lines);
        self.lines.push(b'\n');
        if self.files.is_full_for(self.lines.len() - start, start) {
            let line = self.lines.split_off(start);
            self.write();
            if let Err(error) = self.files.turn() {
                // The log goes on in the file that there is.
                self.complain(&error);
            }
            self.lines = line;
        }
    }

    fn write(&mut self) {
        match self.files.write(&self.lines) {
            Ok(()) if self.lines.is_empty() => {}
            Ok(()) => *lock(&self.problem) = None,
            Err(error) => {
                lock(&self.counters).fail(self.entries);
                self.complain(&error);
            }
        }
        self.lines.clear();
        self.entries = 0;
    }

    /// Says so once, until it has worked again.
    fn complain(&mut self, error: &io::Error) {
        if lock(&self.problem).replace(error.to_string()).is_none() {
            tracing::warn!(%error, "entries could not be written to the log");
        }
    }
}
