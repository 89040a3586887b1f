//! The thread that reads a folder again when something changes in it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{Inner, ToolFolder, Watch, Watching};

/// Changes that go on are waited for so many times as long as a pause between them has to be.
const PATIENCE: u32 = 10;

impl ToolFolder {
    /// [Reloads](Self::reload) the folder whenever a manifest or a program of one changes in it, from a thread
    /// that ends with the last clone of this. Every [`poll_interval`](crate::ToolConfig::poll_interval) it looks whether another folder
    /// has taken its place, and reads it where the system cannot watch it, where a program or the folder was missing,
    /// where something could not be read, and where a linked file or one in another folder has changed.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch(&self) -> io::Result<Watching> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = &*watch {
            return Ok(watch.watching);
        }
        Ok(watch.insert(self.start_watch()?).watching)
    }

    fn start_watch(&self) -> io::Result<Watch> {
        let folder = Arc::downgrade(&self.0);
        let config = self.0.runner.config();
        // One note is enough: its receiver reads the whole folder.
        let (wake, notes) = sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut watched = Watched {
            watcher: watcher(wake.clone(), folder.clone()),
            path: self.0.path.clone(),
            place: None,
        };
        let watching = watched.again();
        let thread = Thread {
            folder,
            watched,
            notes,
            is_over: Arc::clone(&is_over),
            debounce: config.debounce,
            poll_interval: config.poll_interval,
        };
        // The folder may have changed since it was opened.
        let _ = wake.try_send(());
        thread::Builder::new()
            .name("tool-folder".to_owned())
            .spawn(move || thread.run(watching))?;
        Ok(Watch { wake, is_over, watching })
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
