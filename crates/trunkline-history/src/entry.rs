use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use trunkline_core::id::Id;
use trunkline_core::trace_context::TraceId;

use super::redaction::beginning;
use super::text::Text;
use super::time;

/// The record of a completed call, or of the start or end of a stream.
///
/// Serialises to an object with `time` as RFC 3339 text in UTC, and the duration as `ms` (three decimals) and
/// `duration_us`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// The sequence number in this history, starting with 1.
    pub sequence: u64,
    /// The kind of entry: a call, or the start or end of a stream.
    pub kind: Kind,
    /// The start time.
    #[serde(serialize_with = "time::rfc3339")]
    pub time: SystemTime,
    /// The time from start to end.
    #[serde(flatten, serialize_with = "time::millis_and_micros")]
    pub duration: Duration,
    /// The [endpoint](trunkline_core::extensions::Extensions::endpoint) that received the call.
    pub endpoint: &'static str,
    /// The [protocol](trunkline_core::extensions::Extensions::protocol) of the call.
    pub protocol: &'static str,
    /// The method as sent, truncated to 128 bytes. `None` if the message is not a valid request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Box<str>>,
    /// The name of the operation that was run, if it differs from the method, as for MCP's `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Box<str>>,
    /// The id. An id of more than 128 bytes is recorded as a truncated string.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw_id")]
    pub id: Option<Id>,
    /// The name of the caller's principal, truncated to 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// The [issuer](trunkline_access::Principal::issuer) of the caller's token, truncated to 128 bytes. `None` for a
    /// listed token, whose principal is another one than a subject with the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<Box<str>>,
    /// Whether the call is a notification.
    pub notification: bool,
    /// The position in the batch, for a member of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_index: Option<usize>,
    /// The outcome. A tool that fails returns an MCP *result* with `isError`, which counts as an error.
    pub status: Status,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The id of the trace of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The request. `None` for streams and for requests refused before they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Text>,
    /// The response. `None` for notifications, cancelled calls and streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Text>,
    /// For the end of a stream: the sequence number of the entry of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u64>,
    /// For the end of a stream: the number of bytes sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_bytes: Option<u64>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A call, or a message that is not a valid call.
    Call,
    /// The start of a streamed reply.
    StreamStart,
    /// The end of a streamed reply.
    StreamEnd,
}

/// The outcome of a call or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A result. Also the start of a stream, and the regular end of a stream.
    Result,
    /// An error.
    Error,
    /// Cancelled by the client, or because it disconnected.
    Cancelled,
}

impl Entry {
    /// The maximum size of an entry without its texts, in bytes.
    pub(super) const FIXED_BYTES: usize = 1 << 10;

    /// Whether the request was refused before it was read.
    pub(super) fn is_refusal(&self) -> bool {
        self.kind == Kind::Call && self.request.is_none()
    }

    /// The memory used by the entry, in bytes.
    pub(super) fn weight(&self) -> usize {
        let names = [&self.method, &self.operation, &self.principal, &self.issuer];
        let texts = [&self.request, &self.response];
        let names = names.into_iter().flatten().map(|name| name.len());
        let texts = texts.into_iter().flatten().map(Text::weight);
        let id = self.id.as_ref().map_or(0, |id| id.as_raw().len());
        size_of::<Arc<Self>>() + size_of::<Self>() + id + names.chain(texts).sum::<usize>()
    }
}

/// Truncates a name chosen by a client.
pub(super) fn short(name: &str) -> Box<str> {
    beginning(name, NAME_BYTES).into()
}

/// A truncated copy of an id. The id itself would keep the whole body in memory.
pub(super) fn short_id(id: &Id) -> Id {
    let raw = id.as_raw();
    if raw.len() > NAME_BYTES {
        return Id::from(&*short(raw.trim_start_matches('"')));
    }
    Id::from_raw(bytes::Bytes::copy_from_slice(raw.as_bytes()))
}

const NAME_BYTES: usize = 128;

/// Serialises the id as sent: `1.0` is another id than `1`.
pub(super) fn raw_id<S: Serializer>(id: &Option<Id>, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = id.as_ref().map(Id::as_raw);
    // Plain numbers need not be parsed as JSON.
    if let Some(number) = raw.and_then(plain_number) {
        return serializer.serialize_u64(number);
    }
    let raw = raw.map(|raw| RawValue::from_string(raw.to_owned()));
    raw.transpose().map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// The number, if it is a plain integer.
fn plain_number(raw: &str) -> Option<u64> {
    let is_plain = raw == "0" || !raw.starts_with(['0', '+']);
    raw.parse().ok().filter(|_| is_plain)
}
