//! The log of refused hosts and origins.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trunkline_core::error::excerpt;

use super::refusal::Refusal;

/// Logs each refused host and origin once per minute: the client often does not show the reason, and the operator has
/// the remedy. Clones share the names.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusalLog(Arc<Mutex<Minute>>);

/// The names of one minute.
#[derive(Debug, Default)]
struct Minute {
    begin: Option<Instant>,
    hosts: HashSet<String>,
    origins: HashSet<String>,
    is_full: bool,
}

/// The part that is logged.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Name,
    /// Further names of the minute are not logged.
    Full,
}

/// The maximum number of names per minute. Clients may send any.
const MAX_NAMES: usize = 32;

/// The maximum length of a name in characters.
const MAX_NAME: usize = 256;

const MINUTE: Duration = Duration::from_secs(60);

impl RefusalLog {
    /// Logs the refusal of a host or an origin. Ignores others.
    pub(super) fn note(&self, refusal: &Refusal) {
        let (Refusal::Host(name) | Refusal::Origin(name)) = refusal else { return };
        let name = excerpt(name, MAX_NAME).to_string();
        let is_host = matches!(refusal, Refusal::Host(_));
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = minute.add(is_host, &name, Instant::now());
        drop(minute);
        match entry {
            Some(Entry::Name) if is_host => tracing::warn!(
                host = name,
                "requests with this host are refused; if it is a name of this server, allow it: --allow-host, or \
                 `HttpConfig::hosts`"
            ),
            Some(Entry::Name) => tracing::warn!(
                origin = name,
                "requests of web pages with this origin are refused; if you trust these pages, allow it: \
                 --allow-origin, or `HttpConfig::allow_origins`"
            ),
            Some(Entry::Full) => tracing::warn!(
                limit = MAX_NAMES,
                "many hosts or origins are refused; further names are not logged for a minute"
            ),
            None => {}
        }
    }
}

impl Minute {
    fn add(&mut self, is_host: bool, name: &str, now: Instant) -> Option<Entry> {
        let is_over = |begin: Instant| now.saturating_duration_since(begin) >= MINUTE;
        if self.begin.is_none_or(is_over) {
            *self = Self { begin: Some(now), ..Self::default() };
        }
        let count = self.hosts.len() + self.origins.len();
        let names = if is_host { &mut self.hosts } else { &mut self.origins };
        if names.contains(name) {
            return None;
        }
        if count < MAX_NAMES {
            names.insert(name.to_owned());
            return Some(Entry::Name);
        }
        (!std::mem::replace(&mut self.is_full, true)).then_some(Entry::Full)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Entry, MAX_NAMES, Minute};

    #[test]
    fn names_are_logged_once_per_minute() {
        let begin = Instant::now();
        let mut minute = Minute::default();
        let mut check = |seconds: u64, is_host: bool, name: &str, expected: Option<Entry>| {
            let found = minute.add(is_host, name, begin + Duration::from_secs(seconds));
            assert_eq!(found, expected, "{seconds} s: {name}");
        };
        check(0, true, "a.example", Some(Entry::Name));
        check(1, true, "a.example", None);
        check(1, false, "a.example", Some(Entry::Name));
        check(59, true, "a.example", None);
        check(60, true, "a.example", Some(Entry::Name));
        check(61, true, "a.example", None);
        for index in 1..MAX_NAMES {
            check(62, true, &format!("{index}.example"), Some(Entry::Name));
        }
        check(62, true, "b.example", Some(Entry::Full));
        check(63, true, "c.example", None);
        check(63, true, "b.example", None);
        check(120, true, "b.example", Some(Entry::Name));
    }
}
