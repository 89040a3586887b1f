use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use trunkline_core::id::Id;
use trunkline_core::trace_context::TraceId;

use super::redaction::beginning;
use super::text::Text;
use super::time;

/// What is known of one call that has ended, or of one end of a stream.
///
/// Serialises to an object, with `time` as RFC 3339 text in UTC, and the duration as `ms`, with three
/// decimals, and as `duration_us`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its number in this history: 1 for the first, and each has the next one.
    pub sequence: u64,
    /// Whether it is of a call or of a stream.
    pub kind: Kind,
    /// When it began.
    #[serde(serialize_with = "time::rfc3339")]
    pub time: SystemTime,
    /// From then to its end.
    #[serde(flatten, serialize_with = "time::millis_and_micros")]
    pub duration: Duration,
    /// The door that it came through, as [`Extensions::endpoint`](trunkline_core::extensions::Extensions::endpoint) names it.
    pub door: &'static str,
    /// The protocol that it came in, as [`Extensions::protocol`](trunkline_core::extensions::Extensions::protocol) names it.
    pub protocol: &'static str,
    /// The method as it was sent, up to 128 bytes of it. None of what is no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Box<str>>,
    /// The registered operation that was run, if it has another name than the method: the one behind
    /// MCP's `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Box<str>>,
    /// The id. One of more than 128 bytes is a string of their beginning.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw_id")]
    pub id: Option<Id>,
    /// Who has made the call, up to 128 bytes of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// Whether the client wanted no reply.
    pub notification: bool,
    /// Its place in the batch that it is a member of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_index: Option<usize>,
    /// How it ended. A tool that fails has a *result* that says so; that is an error here.
    pub status: Status,
    /// The error's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The trace that the call belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The request. None of what was refused before it was read, and of streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Text>,
    /// The response. None where there was none: of a notification, of a call that was cancelled, and
    /// of streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Text>,
    /// The number of the entry that began the stream that this one ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u64>,
    /// How many bytes were sent on the stream that this entry ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_bytes: Option<u64>,
}

/// What an entry tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A call, or what was sent in place of one.
    Call,
    /// A reply that is a stream has begun.
    StreamStart,
    /// The stream has ended.
    StreamEnd,
}

/// How a call, or a stream, has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a result. A stream, at its end; one that has begun has this status, too.
    Result,
    /// With an error.
    Error,
    /// Nobody waited for it any more.
    Cancelled,
}

impl Entry {
    /// An entry without its texts has no more bytes.
    pub(super) const FIXED_BYTES: usize = 1 << 10;

    /// Whether it is of what was refused before it was read.
    pub(super) fn is_refusal(&self) -> bool {
        self.kind == Kind::Call && self.request.is_none()
    }

    /// What it takes of memory.
    pub(super) fn weight(&self) -> usize {
        let names = [&self.method, &self.operation, &self.principal];
        let texts = [&self.request, &self.response];
        let names = names.into_iter().flatten().map(|name| name.len());
        let texts = texts.into_iter().flatten().map(Text::weight);
        let id = self.id.as_ref().map_or(0, |id| id.as_raw().len());
        size_of::<Arc<Self>>() + size_of::<Self>() + id + names.chain(texts).sum::<usize>()
    }
}

/// The part of a name chosen by a client that an entry keeps.
pub(super) fn short(name: &str) -> Box<str> {
    beginning(name, NAME_BYTES).into()
}

/// What an entry keeps of an id: a copy, since ids are ranges of bodies.
pub(super) fn short_id(id: &Id) -> Id {
    let raw = id.as_raw();
    if raw.len() > NAME_BYTES {
        return Id::from(&*short(raw.trim_start_matches('"')));
    }
    Id::from_raw(bytes::Bytes::copy_from_slice(raw.as_bytes()))
}

const NAME_BYTES: usize = 128;

/// As the client wrote it: `1.0` is another id than `1`.
fn raw_id<S: Serializer>(id: &Option<Id>, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = id.as_ref().map(Id::as_raw);
    // Usual ones need not be read again.
    if let Some(number) = raw.and_then(plain_number) {
        return serializer.serialize_u64(number);
    }
    let raw = raw.map(|raw| RawValue::from_string(raw.to_owned()));
    raw.transpose().map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// The number, if it is written as numbers are.
fn plain_number(raw: &str) -> Option<u64> {
    let is_plain = raw == "0" || !raw.starts_with(['0', '+']);
    raw.parse().ok().filter(|_| is_plain)
}
