//! A request that runs, counted until it is dropped.

use std::sync::Arc;

use super::shared::Shared;
use super::watch::Watch;

/// Dropped when the reply has been handed over, or when nobody waits for it any more.
pub(super) struct Running {
    watch: Arc<Watch>,
    /// The server's counts; the health page is none of its requests.
    shared: Option<Arc<Shared>>,
    /// Whether a part of the reply is on its way and more is to come.
    handed: bool,
}

impl Running {
    /// A request that the service answers.
    pub(super) fn counted(watch: &Arc<Watch>, shared: &Arc<Shared>) -> Self {
        watch.request_begun();
        shared.counts.request_begun();
        Self { watch: Arc::clone(watch), shared: Some(Arc::clone(shared)), handed: false }
    }

    /// A request that the server answers by itself.
    pub(super) fn uncounted(watch: &Arc<Watch>) -> Self {
        watch.request_begun();
        Self { watch: Arc::clone(watch), shared: None, handed: false }
    }

    /// A part of the reply has been handed over, and more is to come.
    pub(super) fn handed(&mut self) {
        self.handed = true;
        self.watch.handed();
    }

    /// That part has been taken, as more is asked for.
    pub(super) fn taken(&mut self) {
        if std::mem::take(&mut self.handed) {
            self.watch.part_taken();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.taken();
        self.watch.request_ended();
        if let Some(shared) = &self.shared {
            shared.counts.request_ended();
        }
    }
}
