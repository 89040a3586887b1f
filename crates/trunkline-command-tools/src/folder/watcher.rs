//! The thread that reloads a folder when it changes.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{Inner, ToolFolder, Watch};

/// The maximum delay of a reload while changes continue, in debounce intervals.
const MAX_DEBOUNCES: u32 = 10;

impl ToolFolder {
    /// [Reloads](Self::reload) the folder whenever a manifest or the program of one has changed, in a thread that ends
    /// with the last clone. Changes are noticed every [`poll_interval`](crate::ToolConfig::poll_interval), on any file
    /// system, also behind links and after the folder was replaced.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch(&self) -> io::Result<()> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.is_none() {
            *watch = Some(self.start_watch()?);
        }
        Ok(())
    }

    fn start_watch(&self) -> io::Result<Watch> {
        let config = self.0.runner.config();
        let (sender, end) = channel();
        let folder = Arc::downgrade(&self.0);
        let thread =
            Thread { folder, end, debounce: config.debounce, poll_interval: config.poll_interval };
        thread::Builder::new().name("tool-folder".to_owned()).spawn(move || thread.run())?;
        Ok(Watch(sender))
    }
}

struct Thread {
    folder: Weak<Inner>,
    end: Receiver<()>,
    debounce: Duration,
    poll_interval: Duration,
}

impl Thread {
    fn run(self) {
        // The folder may have changed since it was opened.
        let mut wait = Duration::ZERO;
        while !self.ends_within(wait) {
            wait = self.poll_interval;
            let Some(folder) = self.folder.upgrade().map(ToolFolder) else { return };
            if !folder.is_outdated() {
                continue;
            }
            if !self.until_quiet(&folder) {
                return;
            }
            let failed_before = folder.failure().is_some();
            if let Err(error) = folder.reload()
                && !failed_before
            {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "failed to read the tools; keeping the previous ones"
                );
            }
        }
    }

    fn ends_within(&self, wait: Duration) -> bool {
        !matches!(self.end.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
    }

    /// Waits for the end of a series of changes, as when many files are copied. Returns false at the end of the thread.
    fn until_quiet(&self, folder: &ToolFolder) -> bool {
        let end = Instant::now() + MAX_DEBOUNCES * self.debounce;
        let mut before = folder.snapshot();
        loop {
            if self.ends_within(self.debounce) {
                return false;
            }
            let now = folder.snapshot();
            if now == before || Instant::now() >= end {
                return true;
            }
            before = now;
        }
    }
}
