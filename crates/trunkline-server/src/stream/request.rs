use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;
use trunkline_core::call::Recording;

use super::asked::Asked;
use crate::status::Counts;

/// What has come and is to be answered, until its answer is written.
pub(super) struct Request {
    pub(super) asked: Asked,
    /// The record of a call. Those of a batch keep theirs.
    pub(super) recording: Option<Recording>,
    begun: Option<Begun>,
    unanswered: Unanswered,
}

/// How many requests of a connection have not been answered. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unanswered(Arc<AtomicUsize>);

/// A request that has a place among those that run, and is counted with them.
struct Begun {
    counts: Arc<Counts>,
    _place: OwnedSemaphorePermit,
}

impl Request {
    pub(super) fn new(asked: Asked, recording: Option<Recording>, unanswered: &Unanswered) -> Self {
        unanswered.0.fetch_add(1, Ordering::Relaxed);
        Self { asked, recording, begun: None, unanswered: unanswered.clone() }
    }

    /// It runs from now on.
    pub(super) fn begin(&mut self, counts: &Arc<Counts>, place: OwnedSemaphorePermit) {
        counts.request_begun();
        self.begun = Some(Begun { counts: Arc::clone(counts), _place: place });
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Its answer is written, or it wants none. One that is dropped otherwise stays unanswered.
    pub(super) fn finish(self) {
        self.unanswered.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Unanswered {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.counts.request_ended();
    }
}
