use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};
use trunkline_core::error::code;

use crate::entry::{Entry, Kind, Status};
use crate::time;

/// The statistics of the calls of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The start time of the session.
    #[serde(serialize_with = "time::rfc3339")]
    pub since: SystemTime,
    /// The number of calls, including messages that are not valid calls.
    pub calls: u64,
    /// The number of streams.
    pub streams: u64,
    /// The number of entries missing in the files because the queue was full.
    pub lost: u64,
    /// The number of entries missing in the files because writing failed.
    pub unwritten: u64,
    /// The number of calls by outcome: `result`, `error`, `cancelled`.
    pub by_status: BTreeMap<&'static str, u64>,
    /// The number of calls by endpoint.
    pub by_endpoint: BTreeMap<String, u64>,
    /// The number of errors by code. Codes beyond the first 256 count as `other`.
    pub by_code: BTreeMap<String, u64>,
    /// The statistics by operation. `unknown` counts calls to unknown methods, `none` messages that are not
    /// requests; names beyond the first 256 count as `other`.
    pub by_method: BTreeMap<String, MethodStats>,
}

/// The statistics of the calls to one method.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MethodStats {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that ended with an error.
    pub errors: u64,
    /// The mean duration.
    #[serde(rename = "mean_ms", serialize_with = "millis")]
    pub mean: Duration,
    /// The maximum duration.
    #[serde(rename = "max_ms", serialize_with = "millis")]
    pub max: Duration,
    #[serde(skip)]
    total: Duration,
}

/// The maximum number of distinct names, which clients may choose.
const MAX_NAMES: usize = 256;

/// Counts entries.
#[derive(Debug)]
pub(super) struct Counters {
    /// Without mean durations.
    stats: Stats,
}

impl Counters {
    pub(super) fn new() -> Self {
        let stats = Stats {
            since: SystemTime::now(),
            calls: 0,
            streams: 0,
            lost: 0,
            unwritten: 0,
            by_status: BTreeMap::new(),
            by_endpoint: BTreeMap::new(),
            by_code: BTreeMap::new(),
            by_method: BTreeMap::new(),
        };
        Self { stats }
    }

    pub(super) fn count(&mut self, entry: &Entry) {
        match entry.kind {
            Kind::Call => self.count_call(entry),
            Kind::StreamStart => self.stats.streams += 1,
            Kind::StreamEnd => {}
        }
    }

    /// Counts an entry that will not be written.
    pub(super) fn count_lost(&mut self, entry: &Entry) {
        self.count(entry);
        self.stats.lost += 1;
    }

    pub(super) fn lost(&self) -> u64 {
        self.stats.lost
    }

    /// Adds the counts of other counters.
    pub(super) fn add(&mut self, others: &Self) {
        let (stats, added) = (&mut self.stats, &others.stats);
        stats.calls += added.calls;
        stats.streams += added.streams;
        stats.lost += added.lost;
        stats.unwritten += added.unwritten;
        for (status, count) in &added.by_status {
            *stats.by_status.entry(status).or_default() += count;
        }
        for (endpoint, count) in &added.by_endpoint {
            *bounded(&mut stats.by_endpoint, endpoint) += count;
        }
        for (code, count) in &added.by_code {
            *bounded(&mut stats.by_code, code) += count;
        }
        for (method, added) in &added.by_method {
            let counted = bounded(&mut stats.by_method, method);
            counted.calls += added.calls;
            counted.errors += added.errors;
            counted.max = counted.max.max(added.max);
            counted.total += added.total;
        }
    }

    pub(super) fn count_unwritten(&mut self, entries: u64) {
        self.stats.unwritten += entries;
    }

    pub(super) fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        for counted in stats.by_method.values_mut() {
            let calls = u32::try_from(counted.calls.max(1)).unwrap_or(u32::MAX);
            counted.mean = counted.total / calls;
        }
        stats
    }

    fn count_call(&mut self, entry: &Entry) {
        let stats = &mut self.stats;
        stats.calls += 1;
        let status = match entry.status {
            Status::Result => "result",
            Status::Error => "error",
            Status::Cancelled => "cancelled",
        };
        *stats.by_status.entry(status).or_default() += 1;
        *bounded(&mut stats.by_endpoint, entry.endpoint) += 1;
        if let Some(code) = entry.code {
            *bounded(&mut stats.by_code, &code.to_string()) += 1;
        }
        let counted = bounded(&mut stats.by_method, name(entry));
        counted.calls += 1;
        counted.errors += u64::from(entry.status == Status::Error);
        counted.max = counted.max.max(entry.duration);
        counted.total += entry.duration;
    }
}

/// The name under which a call is counted.
fn name(entry: &Entry) -> &str {
    match (&entry.operation, &entry.method) {
        (Some(operation), _) => operation,
        (None, Some(_)) if entry.code == Some(code::METHOD_NOT_FOUND) => "unknown",
        (None, Some(method)) => method,
        (None, None) => "none",
    }
}

/// The count of a name, or of `other` if there are too many names.
fn bounded<'c, C: Default>(counts: &'c mut BTreeMap<String, C>, name: &str) -> &'c mut C {
    let may_add = counts.len() < MAX_NAMES || counts.contains_key(name);
    let name = if may_add { name } else { "other" };
    // Nearly all names are known and need no allocation.
    if !counts.contains_key(name) {
        counts.insert(name.to_owned(), C::default());
    }
    counts.get_mut(name).expect("the name is inserted if it is missing")
}

fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    serializer.serialize_f64(time::millis(micros))
}
