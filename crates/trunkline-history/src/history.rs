//! The record of calls.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use crate::entry::Entry;
use crate::filter::{Filter, Page};
use crate::queue::Queue;
use crate::redaction::Redaction;
use crate::ring::Ring;

/// Configuration of a [`History`]: its bounds, and the redaction.
///
/// Messages that are refused before they are read, as HTTP does with 401 and 413, have a quarter of the entries and
/// of the bytes at most: beyond that, a refusal takes the place of the oldest refusal, so that a flood
/// of them pushes out no call.
#[derive(Debug, Clone)]
pub struct HistoryConfig {
    /// Maximum number of entries, at least 1. Default 1,000. A new entry replaces the oldest.
    pub entries: usize,
    /// Maximum bytes of all entries. Default 8 MiB. The oldest are removed. The newest
    /// is always kept: its texts are cut where they would not fit, and without them it has less than
    /// 1 KiB.
    pub bytes: usize,
    /// Maximum bytes of the texts of one entry. Default 16 KiB. A request has at most
    /// half of them, the response what is left.
    pub entry_bytes: usize,
    /// The secrets that are redacted when texts are read.
    pub redact: Redaction,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        let redact = Redaction::default();
        Self { entries: 1_000, bytes: 8 << 20, entry_bytes: 16 << 10, redact }
    }
}

/// The record of the newest calls of one service, or of several. Clones are the same record.
#[derive(Clone)]
pub struct History(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) entry_bytes: usize,
    ring: Mutex<Ring>,
    pub(crate) added: Notify,
    /// When it began, in milliseconds: tells its numbers from those of an earlier history.
    epoch: u128,
}

impl History {
    /// An empty record.
    #[must_use]
    pub fn new(config: HistoryConfig) -> Self {
        let HistoryConfig { entries, bytes, entry_bytes, redact } = config;
        let entry_bytes = entry_bytes.min(bytes.saturating_sub(Entry::FIXED_BYTES));
        let ring = Mutex::new(Ring::new(entries, bytes));
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self(Arc::new(Shared {
            redaction: Arc::new(redact),
            entry_bytes,
            ring,
            added: Notify::new(),
            epoch,
        }))
    }

    /// A page of the entries that fit `filter`, newest first.
    #[must_use]
    pub fn entries(&self, filter: &Filter) -> Page {
        self.ring().page(filter)
    }

    /// The number of the newest entry; 0 before there is one.
    pub fn newest(&self) -> u64 {
        self.ring().newest()
    }

    /// The number behind which the newest entries that fit stand, as many as a page has.
    pub fn before_newest(&self, filter: &Filter) -> u64 {
        let ring = self.ring();
        let page = ring.page(filter);
        page.entries.last().map_or_else(|| ring.newest(), |oldest| oldest.sequence - 1)
    }

    /// A number in words that name the history, too.
    pub fn mark(&self, sequence: u64) -> String {
        format!("{:x}-{sequence}", self.0.epoch)
    }

    /// The number that a [mark](Self::mark) is of, or 0 if it is of another history, of which nothing
    /// has been read here. None of what is no mark.
    pub fn read_up_to(&self, mark: &str) -> Option<u64> {
        let (epoch, sequence) = mark.split_once('-')?;
        let epoch = u128::from_str_radix(epoch, 16).ok()?;
        let sequence = sequence.parse().ok()?;
        Some(if epoch == self.0.epoch { sequence } else { 0 })
    }

    pub(crate) fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all that is recorded from now on go to a log.
    pub(crate) fn queue_to(&self, queue: Arc<Queue>) {
        self.ring().queue_to(queue);
    }

    /// Keeps an entry, and returns its number.
    pub(crate) fn add(&self, entry: Arc<Entry>) -> u64 {
        let sequence = self.ring().push(entry);
        self.0.added.notify_waiters();
        sequence
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("newest", &self.ring().newest()).finish_non_exhaustive()
    }
}
