//! The thread that reloads a folder when it changes.

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

use super::{Inner, ToolFolder, Watch, WatchMode};

/// The maximum delay of a reload while changes continue, in debounce intervals.
const MAX_DEBOUNCES: u32 = 10;

impl ToolFolder {
    /// [Reloads](Self::reload) the folder whenever a manifest or the program of one changes in it, in a thread that
    /// ends with the last clone. Every [`poll_interval`](crate::ToolConfig::poll_interval) it also reloads a folder
    /// that has been replaced, that the system cannot watch, that had unreadable or missing files, or of which a
    /// linked file or one in another folder has changed.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch(&self) -> io::Result<WatchMode> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = &*watch {
            return Ok(watch.watching);
        }
        Ok(watch.insert(self.start_watch()?).watching)
    }

    fn start_watch(&self) -> io::Result<Watch> {
        let folder = Arc::downgrade(&self.0);
        let config = self.0.runner.config();
        // One message is enough, since its receiver reads the whole folder.
        let (wake, changes) = sync_channel(1);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut watched = Watched {
            watcher: watcher(wake.clone(), folder.clone()),
            path: self.0.path.clone(),
            id: None,
        };
        let watching = watched.watch_again();
        let thread = Thread {
            folder,
            watched,
            changes,
            is_stopped: Arc::clone(&is_stopped),
            debounce: config.debounce,
            poll_interval: config.poll_interval,
        };
        // The folder may have changed since it was opened.
        let _ = wake.try_send(());
        thread::Builder::new()
            .name("tool-folder".to_owned())
            .spawn(move || thread.run(watching))?;
        Ok(Watch { wake, is_stopped, watching })
    }
}

struct Thread {
    folder: Weak<Inner>,
    watched: Watched,
    changes: Receiver<()>,
    is_stopped: Arc<AtomicBool>,
    debounce: Duration,
    poll_interval: Duration,
}

impl Thread {
    fn run(mut self, mut watching: WatchMode) {
        while let Some(is_changed) = self.next() {
            if is_changed {
                self.until_quiet();
            }
            if self.is_stopped.load(Ordering::Acquire) {
                return;
            }
            let Some(folder) = self.folder.upgrade().map(ToolFolder) else { return };
            let needs_poll = watching == WatchMode::Polled || folder.needs_recheck();
            if !(is_changed || needs_poll || self.watched.is_replaced()) {
                continue;
            }
            // Before the read, so that changes during the read are noticed.
            watching = self.watched.watch_again();
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

    /// Waits for a change or the poll interval. Returns whether there was a change, and `None` at the end.
    fn next(&self) -> Option<bool> {
        match self.changes.recv_timeout(self.poll_interval) {
            Ok(()) => Some(true),
            Err(RecvTimeoutError::Timeout) => Some(false),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Waits for the end of a series of changes, as when many files are copied.
    fn until_quiet(&self) {
        let end = Instant::now() + MAX_DEBOUNCES * self.debounce;
        while Instant::now() < end
            && !self.is_stopped.load(Ordering::Acquire)
            && self.changes.recv_timeout(self.debounce).is_ok()
        {}
    }
}

/// The watch of the system.
struct Watched {
    watcher: notify::Result<RecommendedWatcher>,
    path: PathBuf,
    /// The identity of the watched folder.
    id: Option<FolderId>,
}

/// The device and inode of a folder.
type FolderId = (u64, u64);

impl Watched {
    /// Watches the folder that is now at the path.
    fn watch_again(&mut self) -> WatchMode {
        self.id = folder_id(&self.path);
        let watched = match &mut self.watcher {
            Ok(watcher) => {
                // It fails if nothing was watched there.
                drop(watcher.unwatch(&self.path));
                watcher.watch(&self.path, RecursiveMode::NonRecursive).map_err(|it| it.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match watched {
            Ok(()) => WatchMode::Notified,
            Err(error) => {
                tracing::debug!(error, path = %self.path.display(), "cannot watch a folder; polling it");
                WatchMode::Polled
            }
        }
    }

    /// Whether the folder at the path has been replaced or removed.
    fn is_replaced(&self) -> bool {
        folder_id(&self.path) != self.id
    }
}

fn folder_id(path: &Path) -> Option<FolderId> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn watcher(wake: SyncSender<()>, folder: Weak<Inner>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        // An error may mean that events were lost.
        if event.is_ok_and(|event| !is_change(&event, &folder)) {
            return;
        }
        // A message that is already queued covers this event, too.
        let _ = wake.try_send(());
    })
}

/// Whether an event may change the tools. Reading the folder and executing programs are events, too, and tools may
/// write files there.
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
        || event.paths.iter().any(|path| path == folder.path() || catalog.may_affect(path))
}
