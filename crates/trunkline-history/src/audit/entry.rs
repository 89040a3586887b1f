use std::time::{Duration, SystemTime};

use serde::Serialize;
use trunkline_core::id::Id;
use trunkline_core::trace_context::TraceId;

use crate::entry::{raw_id, short_id};
use crate::redaction::beginning;
use crate::time;

/// The call of entries of the audit log.
#[derive(Debug, Clone, Serialize)]
pub struct AuditedCall {
    /// Identifies the call among all calls in the log.
    pub call: String,
    /// The name of the operation.
    pub operation: String,
    /// `additive`, `destructive`, or `unknown` for an operation without a declared effect.
    pub effect: &'static str,
    /// The name of the database, for an operation on databases. `None` if the call does not name it unambiguously.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The SHA-256 digest of the canonical params, in hexadecimal. `None` if it was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params_sha256: Option<String>,
    /// The name of the caller's principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The issuer of the caller's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The address of the client, or its process on a unix socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The endpoint that received the call.
    pub endpoint: &'static str,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw_id")]
    pub id: Option<Id>,
    /// The id of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
}

/// A line of the audit log.
#[derive(Debug, Serialize)]
pub struct AuditEntry<'a> {
    #[serde(serialize_with = "time::rfc3339")]
    time: SystemTime,
    #[serde(flatten)]
    event: Event,
    #[serde(flatten)]
    call: &'a AuditedCall,
}

/// The occasion of an entry.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The call is about to run.
    Begin,
    /// The call has ended.
    End(Ending),
}

/// The end of a call.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ending {
    /// `ok`, `error`; `cancelled` if the call timed out or its client has gone; `refused` if the call did not run, because
    /// access rules have refused it with a code, or its first entry could not be made durable in time.
    pub outcome: &'static str,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The rows that the call has changed, if its result contains their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_affected: Option<u64>,
    /// The rows that foreign keys and triggers have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cascaded: Option<u64>,
    /// The duration of the call in milliseconds.
    #[serde(rename = "ms", serialize_with = "milliseconds")]
    pub duration: Duration,
}

impl AuditedCall {
    /// Limits the texts that clients choose.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        const MAX_BYTES: usize = 512;
        let texts = [&mut self.database, &mut self.principal, &mut self.issuer, &mut self.peer];
        for text in texts.into_iter().flatten() {
            *text = beginning(text, MAX_BYTES).to_owned();
        }
        self.id = self.id.as_ref().map(short_id);
        self
    }
}

impl<'a> AuditEntry<'a> {
    /// An entry with the current time.
    #[must_use]
    pub fn now(call: &'a AuditedCall, event: Event) -> Self {
        Self { time: SystemTime::now(), event, call }
    }

    /// The JSON text and a line break.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("the parts of an entry are JSON");
        line.push(b'\n');
        line
    }
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time::millis(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}
