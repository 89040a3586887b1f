//! The handle of the thread that watches a folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// How a folder is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Watching {
    /// The system reports changes.
    Notified,
    /// The folder is read periodically: the system cannot report changes. The log has the reason.
    Polled,
}

/// A thread that watches. It ends when this is dropped.
pub(super) struct Watch {
    pub(super) wake: SyncSender<()>,
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) watching: Watching,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // If there is a note already, the thread takes that one.
        let _ = self.wake.try_send(());
    }
}
