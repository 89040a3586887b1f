use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use trunkline_core::id::Id;
use trunkline_core::operation::matches;

use super::entry::{Entry, Status, short_id};

/// A filter of entries. The default matches all entries, with pages of 100.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Matches the method or the operation. Each `*` matches any text: `math.*`.
    pub method: Option<String>,
    /// Matches the id in the same spelling.
    pub id: Option<Id>,
    /// Matches the outcome.
    pub status: Option<Status>,
    /// Matches the error code.
    pub code: Option<i64>,
    /// Matches the endpoint.
    pub endpoint: Option<String>,
    /// Matches the name of the principal.
    pub principal: Option<String>,
    /// Matches the issuer of the caller's token.
    pub issuer: Option<String>,
    /// Matches the trace id: 32 hexadecimal digits.
    pub trace_id: Option<String>,
    /// Matches entries that started at this time or later.
    pub since: Option<SystemTime>,
    /// Matches entries that started before this time.
    pub until: Option<SystemTime>,
    /// Matches entries older than this sequence number: [`Page::next`] of the previous page.
    pub before: Option<u64>,
    /// The maximum number of entries of a page. Default 100.
    pub limit: usize,
}

/// A page of entries, newest first.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// The entries.
    #[serde(serialize_with = "sequence")]
    pub entries: Vec<Arc<Entry>>,
    /// The [`Filter::before`] of the next page, if older entries match.
    pub next: Option<u64>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            method: None,
            id: None,
            status: None,
            code: None,
            endpoint: None,
            principal: None,
            issuer: None,
            trace_id: None,
            since: None,
            until: None,
            before: None,
            limit: 100,
        }
    }
}

impl Filter {
    /// Whether an entry matches, regardless of the page limit.
    #[must_use]
    pub fn matches(&self, entry: &Entry) -> bool {
        let same = |expected: &Option<String>, found: Option<&str>| {
            expected.as_deref().is_none_or(|expected| Some(expected) == found)
        };
        // Formatted only if it is compared.
        let trace_id = self.trace_id.as_ref().and(entry.trace_id).map(|id| id.to_string());
        self.before.is_none_or(|before| entry.sequence < before)
            && self.matches_method(entry)
            && self.id.as_ref().is_none_or(|id| entry.id.as_ref() == Some(&short_id(id)))
            && self.status.is_none_or(|status| entry.status == status)
            && self.code.is_none_or(|code| entry.code == Some(code))
            && same(&self.endpoint, Some(entry.endpoint))
            && same(&self.principal, entry.principal.as_deref())
            && same(&self.issuer, entry.issuer.as_deref())
            && same(&self.trace_id, trace_id.as_deref())
            && self.since.is_none_or(|since| entry.time >= since)
            && self.until.is_none_or(|until| entry.time < until)
    }

    fn matches_method(&self, entry: &Entry) -> bool {
        let Some(pattern) = &self.method else {
            return true;
        };
        let mut names = [&entry.method, &entry.operation].into_iter().flatten();
        names.any(|name| matches(pattern, name))
    }
}

fn sequence<S: Serializer>(entries: &[Arc<Entry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}
