use std::io;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::files::Files;
use super::lock;
use super::stats::Counters;
use crate::history::{Subscription, Update};

/// What writes entries behind their calls, on a thread of its own.
pub(super) struct Writer {
    subscription: Subscription,
    files: Files,
    counters: Arc<Mutex<Counters>>,
    /// Lines that were not written yet, and how many entries they tell of.
    lines: Vec<u8>,
    entries: u64,
    has_failed: bool,
}

/// What is written at a time.
const CHUNK: usize = 256 << 10;

impl Writer {
    pub(super) fn new(
        subscription: Subscription,
        files: Files,
        counters: Arc<Mutex<Counters>>,
    ) -> Self {
        Self { subscription, files, counters, lines: Vec::new(), entries: 0, has_failed: false }
    }

    /// Writes until `closing` is cancelled and all that was recorded before is written.
    pub(super) async fn run(mut self, closing: CancellationToken) {
        loop {
            let update = tokio::select! {
                biased;
                update = self.subscription.next() => update,
                () = closing.cancelled() => return,
            };
            self.take(&update);
            // What is there already is written in one piece.
            while self.lines.len() < CHUNK {
                let Some(update) = self.subscription.next().now_or_never() else { break };
                self.take(&update);
            }
            self.write();
        }
    }

    fn take(&mut self, update: &Update) {
        let mut line = match update {
            Update::Entry(entry) => {
                lock(&self.counters).count(entry);
                serde_json::to_vec(&**entry).expect("the parts of an entry are JSON")
            }
            Update::Lost(count) => {
                lock(&self.counters).lose(*count);
                format!("{{\"lost\":{count}}}").into_bytes()
            }
        };
        line.push(b'\n');
        if self.files.is_full_for(line.len(), self.lines.len()) {
            self.write();
            if let Err(error) = self.files.turn() {
                // The log goes on in the file that there is.
                self.complain(&error);
            }
        }
        self.lines.append(&mut line);
        self.entries += u64::from(matches!(update, Update::Entry(_)));
    }

    fn write(&mut self) {
        match self.files.write(&self.lines) {
            Ok(()) => self.has_failed = false,
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
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!(%error, "entries could not be written to the log");
        }
    }
}
