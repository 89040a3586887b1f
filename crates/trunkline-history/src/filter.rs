use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use trunkline_core::id::Id;
use trunkline_core::operation::matches;

use super::entry::{Entry, Status, short_id};

/// Which entries are wanted. The default wants all, a hundred at a time.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Of this method, or of this operation. A `*` at its end stands for any end: `math.*`.
    pub method: Option<String>,
    /// With this id, in the same spelling.
    pub id: Option<Id>,
    /// That ended so.
    pub status: Option<Status>,
    /// With an error of this code.
    pub code: Option<i64>,
    /// Through this door.
    pub door: Option<String>,
    /// By this principal.
    pub principal: Option<String>,
    /// Of this trace: 32 hexadecimal digits.
    pub trace_id: Option<String>,
    /// That began then or later.
    pub since: Option<SystemTime>,
    /// That began before.
    pub until: Option<SystemTime>,
    /// Older than the entry of this number: [`Page::next`] of the page before.
    pub before: Option<u64>,
    /// How many entries a page has. Default 100.
    pub limit: usize,
}

/// Entries, newest first.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// The entries.
    #[serde(serialize_with = "sequence")]
    pub entries: Vec<Arc<Entry>>,
    /// [`Filter::before`] of the next page, if there are older entries that fit.
    pub next: Option<u64>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            method: None,
            id: None,
            status: None,
            code: None,
            door: None,
            principal: None,
            trace_id: None,
            since: None,
            until: None,
            before: None,
            limit: 100,
        }
    }
}

impl Filter {
    /// Whether an entry is wanted; a page's limit aside. For subscribers.
    #[must_use]
    pub fn fits(&self, entry: &Entry) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| Some(wanted) == found)
        };
        // Formatted only if it is compared.
        let trace_id = self.trace_id.as_ref().and(entry.trace_id).map(|id| id.to_string());
        self.before.is_none_or(|before| entry.sequence < before)
            && self.fits_method(entry)
            && self.id.as_ref().is_none_or(|id| entry.id.as_ref() == Some(&short_id(id)))
            && self.status.is_none_or(|status| entry.status == status)
            && self.code.is_none_or(|code| entry.code == Some(code))
            && same(&self.door, Some(entry.door))
            && same(&self.principal, entry.principal.as_deref())
            && same(&self.trace_id, trace_id.as_deref())
            && self.since.is_none_or(|since| entry.time >= since)
            && self.until.is_none_or(|until| entry.time < until)
    }

    fn fits_method(&self, entry: &Entry) -> bool {
        let Some(wanted) = &self.method else {
            return true;
        };
        let mut names = [&entry.method, &entry.operation].into_iter().flatten();
        names.any(|name| matches(wanted, name))
    }
}

fn sequence<S: Serializer>(entries: &[Arc<Entry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}
