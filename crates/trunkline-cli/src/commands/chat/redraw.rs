use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// Asks for the line that is edited to be shown anew, when another program has had the terminal meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct Redraw(Arc<AtomicBool>);

impl Redraw {
    /// Nothing but this signal makes an editor let go of its line.
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
        // There is this process.
        let _ = kill_process(getpid(), Signal::INT);
    }

    /// Whether it was asked for since the last time: such a signal is no Ctrl-C.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}
