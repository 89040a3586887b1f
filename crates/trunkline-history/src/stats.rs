use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};
use trunkline_core::error::code;

use crate::entry::{Entry, Kind, Status};
use crate::time;

/// What was counted of the calls of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// When the session began.
    #[serde(serialize_with = "time::rfc3339")]
    pub since: SystemTime,
    /// How many calls there were, and what was sent in place of them.
    pub calls: u64,
    /// How many streams were begun.
    pub streams: u64,
    /// How many of them are missing in the files, since they came faster than they could be written.
    pub lost: u64,
    /// How many of them the disk has not taken.
    pub unwritten: u64,
    /// How calls ended: `result`, `error`, `cancelled`.
    pub by_status: BTreeMap<&'static str, u64>,
    /// Through which doors they came.
    pub by_door: BTreeMap<String, u64>,
    /// The codes of errors. What is over 256 of them counts as `other`.
    pub by_code: BTreeMap<String, u64>,
    /// What was called: operations by their name. `unknown` are methods that there are not, `none` is
    /// what was no request; what is over 256 names counts as `other`.
    pub by_method: BTreeMap<String, MethodStats>,
}

/// What was counted of the calls of one method.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MethodStats {
    /// How many there were.
    pub calls: u64,
    /// How many ended with an error.
    pub errors: u64,
    /// How long they took on average.
    #[serde(rename = "mean_ms", serialize_with = "millis")]
    pub mean: Duration,
    /// How long the longest took.
    #[serde(rename = "max_ms", serialize_with = "millis")]
    pub max: Duration,
}

/// Names that clients may choose are no more than this.
const NAMES: usize = 256;

/// What is counted while entries come.
#[derive(Debug)]
pub(super) struct Counters {
    stats: Stats,
    /// All the time that calls of a method took.
    took: BTreeMap<String, Duration>,
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
            by_door: BTreeMap::new(),
            by_code: BTreeMap::new(),
            by_method: BTreeMap::new(),
        };
        Self { stats, took: BTreeMap::new() }
    }

    pub(super) fn count(&mut self, entry: &Entry) {
        match entry.kind {
            Kind::Call => self.count_call(entry),
            Kind::StreamStart => self.stats.streams += 1,
            Kind::StreamEnd => {}
        }
    }

    /// Counts an entry that will not be written.
    pub(super) fn lose(&mut self, entry: &Entry) {
        self.count(entry);
        self.stats.lost += 1;
    }

    pub(super) fn lost(&self) -> u64 {
        self.stats.lost
    }

    /// Counts what others have counted.
    pub(super) fn add(&mut self, others: &Self) {
        let (stats, added) = (&mut self.stats, &others.stats);
        stats.calls += added.calls;
        stats.streams += added.streams;
        stats.lost += added.lost;
        stats.unwritten += added.unwritten;
        for (status, count) in &added.by_status {
            *stats.by_status.entry(status).or_default() += count;
        }
        for (door, count) in &added.by_door {
            *bounded(&mut stats.by_door, door) += count;
        }
        for (code, count) in &added.by_code {
            *bounded(&mut stats.by_code, code) += count;
        }
        for (method, added) in &added.by_method {
            let counted = bounded(&mut stats.by_method, method);
            counted.calls += added.calls;
            counted.errors += added.errors;
            counted.max = counted.max.max(added.max);
        }
        for (method, took) in &others.took {
            *bounded(&mut self.took, method) += *took;
        }
    }

    pub(super) fn fail(&mut self, entries: u64) {
        self.stats.unwritten += entries;
    }

    pub(super) fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        for (method, counted) in &mut stats.by_method {
            let all = self.took.get(method).copied().unwrap_or_default();
            let calls = u32::try_from(counted.calls.max(1)).unwrap_or(u32::MAX);
            counted.mean = all / calls;
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
        *bounded(&mut stats.by_door, entry.door) += 1;
        if let Some(code) = entry.code {
            *bounded(&mut stats.by_code, &code.to_string()) += 1;
        }
        let method = name(entry);
        let counted = bounded(&mut stats.by_method, method);
        counted.calls += 1;
        counted.errors += u64::from(entry.status == Status::Error);
        counted.max = counted.max.max(entry.duration);
        *bounded(&mut self.took, method) += entry.duration;
    }
}

/// What a call is counted under.
fn name(entry: &Entry) -> &str {
    match (&entry.operation, &entry.method) {
        (Some(operation), _) => operation,
        (None, Some(_)) if entry.code == Some(code::METHOD_NOT_FOUND) => "unknown",
        (None, Some(method)) => method,
        (None, None) => "none",
    }
}

/// The count under a name, or under `other` if there are too many names.
fn bounded<'c, C: Default>(counts: &'c mut BTreeMap<String, C>, name: &str) -> &'c mut C {
    let has_room = counts.len() < NAMES || counts.contains_key(name);
    let name = if has_room { name } else { "other" };
    // Nearly all names are known, and take no allocation.
    if !counts.contains_key(name) {
        counts.insert(name.to_owned(), C::default());
    }
    counts.get_mut(name).expect("a count that was there, or was put there")
}

fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    serializer.serialize_f64(time::millis(micros))
}
