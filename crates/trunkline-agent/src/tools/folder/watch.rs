//! A thread that reads a folder again when something changes in it.

use std::io;
use std::os::unix::fs::MetadataExt;
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
        let mut watched = Watched {
            watcher: watcher(wake.clone(), folder.clone()),
            path: path.to_owned(),
            place: None,
        };
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
        while let Some(is_noted) = self.next() {
            if is_noted {
                self.until_quiet();
            }
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let Some(folder) = self.folder.upgrade().map(ToolFolder) else { return };
            let is_due = watching == Watching::Polled || folder.is_unsettled();
            if !(is_noted || is_due || self.watched.is_elsewhere()) {
                continue;
            }
            // Before it is read, so that what changes meanwhile is noted.
            watching = self.watched.again();
            let failed_before = folder.failure().is_some();
            if let Err(error) = folder.reload()
                && !failed_before
            {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the tools stay as they are"
                );
            }
        }
    }

    /// Waits for a change, or for the time to look for one: whether there was a note, none at the end.
    fn next(&self) -> Option<bool> {
        match self.notes.recv_timeout(self.poll_interval) {
            Ok(()) => Some(true),
            Err(RecvTimeoutError::Timeout) => Some(false),
            Err(RecvTimeoutError::Disconnected) => None,
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
    /// The folder that was at the path when it was watched.
    place: Option<Place>,
}

/// The device and the number that a folder has on it.
type Place = (u64, u64);

impl Watched {
    /// Watches what is at the path now.
    fn again(&mut self) -> Watching {
        self.place = place(&self.path);
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

    /// Whether another folder is at the path than the one that is watched, or none.
    fn is_elsewhere(&self) -> bool {
        place(&self.path) != self.place
    }
}

fn place(path: &Path) -> Option<Place> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn watcher(wake: SyncSender<()>, folder: Weak<Inner>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        // An error may be that some were lost.
        if event.is_ok_and(|event| !is_change(&event, &folder)) {
            return;
        }
        // If there is a note already, it is for this as well.
        let _ = wake.try_send(());
    })
}

/// Whether the folder may hold something else than before. Reading it and executing what is in it are events,
/// too, and tools may write into it.
fn is_change(event: &Event, folder: &Weak<Inner>) -> bool {
    let is_reading = matches!(
        event.kind,
        EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write)
    );
    if is_reading {
        return false;
    }
    let Some(folder) = folder.upgrade().map(ToolFolder) else { return false };
    let catalog = folder.catalog();
    event.need_rescan()
        || event.paths.is_empty()
        || event.paths.iter().any(|path| path == folder.path() || catalog.concerns(path))
}
