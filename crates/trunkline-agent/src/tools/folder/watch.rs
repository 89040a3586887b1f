//! A thread that reads a folder again when something changes in it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{Inner, ToolFolder};
use crate::tools::settings::ToolSettings;

/// Changes that go on are waited for so many times as long as a pause between them has to be.
const PATIENCE: u32 = 10;

/// How a folder is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Watching {
    /// The system tells when something changes.
    Notified,
    /// It is read from time to time: the system cannot tell, of which the log has the reason.
    Polled,
}

/// A thread that watches. It ends when this is dropped.
pub(super) struct Watch {
    wake: SyncSender<()>,
    is_over: Arc<AtomicBool>,
    watching: Watching,
}

impl Watch {
    pub(super) fn start(
        folder: Weak<Inner>,
        path: &Path,
        settings: &ToolSettings,
    ) -> io::Result<Self> {
        // One note is enough: whoever takes it reads all.
        let (wake, notes) = sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut watched = Watched { watcher: watcher(wake.clone()), path: path.to_owned() };
        let watching = watched.again();
        let thread = Thread {
            folder,
            watched,
            notes,
            is_over: Arc::clone(&is_over),
            debounce: settings.debounce,
            poll_interval: settings.poll_interval,
        };
        // What changed between opening the folder and now.
        let _ = wake.try_send(());
        thread::Builder::new()
            .name("tool-folder".to_owned())
            .spawn(move || thread.run(watching))?;
        Ok(Self { wake, is_over, watching })
    }

    pub(super) fn watching(&self) -> Watching {
        self.watching
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // If there is a note already, the thread takes that one.
        let _ = self.wake.try_send(());
    }
}

struct Thread {
    folder: Weak<Inner>,
    watched: Watched,
    notes: Receiver<()>,
    is_over: Arc<AtomicBool>,
    debounce: Duration,
    poll_interval: Duration,
}

impl Thread {
    fn run(mut self, mut watching: Watching) {
        while self.is_noted(watching) {
            self.until_quiet();
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            // Before it is read, so that what changes meanwhile is noted. Another folder may have taken the
            // place of the one that is watched.
            watching = self.watched.again();
            let Some(folder) = self.folder.upgrade() else { return };
            if let Err(error) = ToolFolder(folder).reload() {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the tools stay as they are"
                );
            }
        }
    }

    /// Waits for a change, or for the time to look for one.
    fn is_noted(&self, watching: Watching) -> bool {
        match watching {
            Watching::Notified => self.notes.recv().is_ok(),
            Watching::Polled => {
                self.notes.recv_timeout(self.poll_interval) != Err(RecvTimeoutError::Disconnected)
            }
        }
    }

    /// Waits until no more changes come, as when many files are copied.
    fn until_quiet(&self) {
        let end = Instant::now() + PATIENCE * self.debounce;
        while Instant::now() < end
            && !self.is_over.load(Ordering::Acquire)
            && self.notes.recv_timeout(self.debounce).is_ok()
        {}
    }
}

/// What the system is asked to watch.
struct Watched {
    watcher: notify::Result<RecommendedWatcher>,
    path: PathBuf,
}

impl Watched {
    /// Watches what is at the path now.
    fn again(&mut self) -> Watching {
        let watched = match &mut self.watcher {
            Ok(watcher) => {
                // An error says that nothing was watched there.
                drop(watcher.unwatch(&self.path));
                watcher.watch(&self.path, RecursiveMode::NonRecursive).map_err(|it| it.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match watched {
            Ok(()) => Watching::Notified,
            Err(error) => {
                tracing::debug!(error, path = %self.path.display(), "a folder is read from time to time");
                Watching::Polled
            }
        }
    }
}

fn watcher(wake: SyncSender<()>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Reading the folder, and executing what is in it, are events too. An error may be that some were
        // lost.
        if event.is_ok_and(|event| is_reading(event.kind)) {
            return;
        }
        // If there is a note already, it is for this as well.
        let _ = wake.try_send(());
    })
}

fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}
