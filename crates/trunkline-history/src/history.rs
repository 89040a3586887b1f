//! The record of calls.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use crate::entry::Entry;
use crate::filter::{Filter, Page};
use crate::queue::{Logged, Queue};
use crate::redaction::Redaction;
use crate::ring::Ring;

/// Configuration of a [`History`]: its limits and the redaction.
///
/// Requests that are refused before they are read, such as those with HTTP status 401 or 413, use at most a
/// quarter of the entries and bytes. Beyond that, a refusal replaces the oldest refusal, so that many
/// refusals do not displace calls.
#[derive(Debug, Clone)]
pub struct HistoryConfig {
    /// Maximum number of entries, at least 1. Default 1,000. A new entry replaces the oldest.
    pub entries: usize,
    /// Maximum size of all entries, in bytes. Default 8 MiB. The oldest entries are removed. The newest entry
    /// is always kept: its texts are truncated to fit, and the rest is smaller than 1 KiB.
    pub bytes: usize,
    /// Maximum size of the texts of one entry, in bytes. Default 16 KiB. The request uses at most half, the
    /// response the rest.
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

/// The record of the most recent calls of one or more services. Clones share the record.
#[derive(Clone)]
pub struct History(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    redaction: RwLock<Arc<Redaction>>,
    pub(crate) entry_bytes: usize,
    ring: Mutex<Ring>,
    pub(crate) added: Notify,
    /// The start time in milliseconds. It distinguishes the cursors of this history from those of earlier ones.
    epoch: u128,
}

impl History {
    /// Creates an empty record.
    #[must_use]
    pub fn new(config: HistoryConfig) -> Self {
        let HistoryConfig { entries, bytes, entry_bytes, redact } = config;
        let entry_bytes = entry_bytes.min(bytes.saturating_sub(Entry::FIXED_BYTES));
        let ring = Mutex::new(Ring::new(entries, bytes));
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self(Arc::new(Shared {
            redaction: RwLock::new(Arc::new(redact)),
            entry_bytes,
            ring,
            added: Notify::new(),
            epoch,
        }))
    }

    /// Replaces the redaction, for later calls.
    pub fn replace_redaction(&self, redact: Redaction) {
        let mut current = self.0.redaction.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(redact);
    }

    pub(crate) fn redaction(&self) -> Arc<Redaction> {
        Arc::clone(&self.0.redaction.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A page of the entries that match `filter`, newest first.
    #[must_use]
    pub fn entries(&self, filter: &Filter) -> Page {
        self.ring().page(filter)
    }

    /// The sequence number of the newest entry, or 0 for an empty history.
    pub fn newest(&self) -> u64 {
        self.ring().newest()
    }

    /// The sequence number before the newest page of entries that match.
    pub fn before_newest(&self, filter: &Filter) -> u64 {
        let ring = self.ring();
        let page = ring.page(filter);
        page.entries.last().map_or_else(|| ring.newest(), |oldest| oldest.sequence - 1)
    }

    /// A cursor for resuming after this sequence number. It identifies this history.
    pub fn cursor(&self, sequence: u64) -> String {
        format!("{:x}-{sequence}", self.0.epoch)
    }

    /// The sequence number of a [cursor](Self::cursor), or 0 for a cursor of another history. `None` if the
    /// text is not a cursor.
    pub fn parse_cursor(&self, cursor: &str) -> Option<u64> {
        let (epoch, sequence) = cursor.split_once('-')?;
        let epoch = u128::from_str_radix(epoch, 16).ok()?;
        let sequence = sequence.parse().ok()?;
        Some(if epoch == self.0.epoch { sequence } else { 0 })
    }

    pub(crate) fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a queue that receives all further entries.
    pub(crate) fn queue_to(&self, queue: Arc<Queue<Logged>>) {
        self.ring().queue_to(queue);
    }

    /// Adds an entry and returns its sequence number.
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
