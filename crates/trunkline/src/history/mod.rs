//! What has been asked and answered: a bounded record of all calls.
//!
//! A [`History`] is given to a service with [`Rpc::recorded`](crate::Rpc::recorded), and from then on
//! each call makes an [`Entry`] when it ends: through whatever door it came, with a result, an error,
//! or cancelled. So does what is no call: a body that cannot be read, an invalid member of a batch, a
//! method that does not exist, a request that HTTP refuses (401, 403, 413, …).
//!
//! ```
//! use trunkline::history::{Filter, History, Settings};
//! use trunkline::{Extensions, Router};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let history = History::new(Settings::default());
//! let rpc = Router::new().method("login", || "welcome").build()?.recorded(history.clone());
//!
//! let body = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"hunter2"},"id":1}"#;
//! rpc.handle(body.into(), Extensions::through("json-rpc")).await;
//!
//! let newest = &history.entries(&Filter::default()).entries[0];
//! let request = newest.request.as_ref().map(|request| request.as_str());
//! let kept = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"[redacted]"},"id":1}"#;
//! assert_eq!(request, Some(kept));
//! # Ok(())
//! # }
//! ```
//!
//! Entries stand in the order in which they ended. Texts are copies, [redacted](Redaction) before
//! anything is kept, and bounded, so that a history holds on to no body and never outgrows its
//! [`Settings`]. A service without a history pays one look at an empty field.
//!
//! Other protocols are recorded as they are spoken: MCP's `tools/call` is an entry of that method with
//! the request and the response that its client saw, and [`Entry::operation`] names the operation
//! that was run for it. There is no second entry for that.
//!
//! [`History::routes`] shows the record over HTTP, and a [`Log`] keeps it in files.

mod beginning;
/// The record over HTTP.
pub mod endpoint {
    #[doc(inline)]
    pub use crate::endpoints::history::{Readers, Settings};
}
mod draft;
mod entry;
mod filter;
pub mod log;
mod query;
mod recording;
mod redaction;
mod ring;
mod settings;
mod stream;
mod subscription;
mod time;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

pub use crate::call::Recording;
pub use entry::{Entry, Kind, Status, Text};
pub use filter::{Filter, Page};
pub use log::Log;
pub use query::QueryError;
pub(crate) use query::decoded;
pub use redaction::Redaction;
use ring::Ring;
pub use settings::Settings;
pub use stream::{Counted, StreamRecording};
pub use subscription::{Subscription, Update};

/// The record of the newest calls of one service, or of several. Clones are the same record.
#[derive(Clone)]
pub struct History(Arc<Shared>);

struct Shared {
    redact: Redaction,
    entry_bytes: usize,
    ring: Mutex<Ring>,
    added: Notify,
    /// When it began, in milliseconds: tells its numbers from those of an earlier history.
    epoch: u128,
}

impl History {
    /// An empty record.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { entries, bytes, entry_bytes, redact } = settings;
        let entry_bytes = entry_bytes.min(bytes.saturating_sub(Entry::FIXED_BYTES));
        let ring = Mutex::new(Ring::new(entries, bytes));
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self(Arc::new(Shared { redact, entry_bytes, ring, added: Notify::new(), epoch }))
    }

    /// A page of the entries that fit `filter`, newest first.
    #[must_use]
    pub fn entries(&self, filter: &Filter) -> Page {
        self.ring().page(filter)
    }

    /// The number of the newest entry; 0 before there is one.
    pub(crate) fn newest(&self) -> u64 {
        self.ring().newest()
    }

    /// The number behind which the newest entries that fit stand, as many as a page has.
    pub(crate) fn before_newest(&self, filter: &Filter) -> u64 {
        let ring = self.ring();
        let page = ring.page(filter);
        page.entries.last().map_or_else(|| ring.newest(), |oldest| oldest.sequence - 1)
    }

    /// A number in words that name the history, too.
    pub(crate) fn mark(&self, sequence: u64) -> String {
        format!("{:x}-{sequence}", self.0.epoch)
    }

    /// The number that a [mark](Self::mark) is of, or 0 if it is of another history, of which nothing
    /// has been read here. None of what is no mark.
    pub(crate) fn read_up_to(&self, mark: &str) -> Option<u64> {
        let (epoch, sequence) = mark.split_once('-')?;
        let epoch = u128::from_str_radix(epoch, 16).ok()?;
        let sequence = sequence.parse().ok()?;
        Some(if epoch == self.0.epoch { sequence } else { 0 })
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all that is recorded from now on go to a log.
    fn queue_to(&self, queue: Arc<log::Queue>) {
        self.ring().queue_to(queue);
    }

    /// Keeps an entry, and returns its number.
    fn add(&self, entry: Entry) -> u64 {
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
