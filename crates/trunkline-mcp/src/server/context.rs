//! Requests of methods that wrap operations, and the members that their results have in common.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline::{Call, Outcome, code};

use crate::capabilities::ClientCapabilities;
use crate::era::{Era, Transport};
use crate::log_level::LogLevel;
use crate::notify::{NotificationQueue, RequestedNotifications};
use crate::protocol::Legacy;
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::request::Request;

/// A request, its era and its transport.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) request: &'a Request,
    pub(super) era: Era,
    pub(super) transport: Transport<'a>,
}

/// The members that all results of an era have.
pub(super) struct Envelope {
    pub(super) era: Era,
    /// The last members, and the closing brace.
    pub(super) tail: Bytes,
}

impl Context<'_> {
    /// The revision of the request, or the latest one of the first era, which has the same content as later ones.
    pub(super) fn revision(self) -> Legacy {
        match self.era {
            Era::Modern => Legacy::LATEST,
            Era::Legacy => self.transport.revision(),
        }
    }

    /// Adds the values that handlers extract to the extensions of a call that has not been redirected. Returns the
    /// notifications to its client, if the client accepts any.
    pub(super) fn attach(self, call: &mut Call) -> Option<Arc<NotificationQueue>> {
        let Self { request, era, transport } = self;
        if era == Era::Modern {
            declare_capabilities(call, request);
        }
        let requested = match transport {
            Transport::Http(fields) => {
                RequestedNotifications::of(call, request, era, LogLevel::Info)
                    .filter(|_| fields.accepts_events())
            }
            Transport::Channel(level) => RequestedNotifications::of(call, request, era, level),
            Transport::JsonRpc | Transport::Batch => None,
        };
        requested.map(|requested| requested.attach(call))
    }
}

impl Envelope {
    /// A result with the members that `write` appends.
    pub(super) fn write(&self, write: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        Outcome::from_writer(|json| {
            json.extend_from_slice(self.start());
            write(json);
            json.extend_from_slice(&self.tail);
        })
    }

    /// A result with the members that `write` appends, and further members of `_meta`, which it returns. `None` if it
    /// returns none.
    pub(super) fn write_with_meta(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> Option<Map<String, Value>>,
    ) -> Option<Outcome> {
        let mut is_written = true;
        let outcome = Outcome::from_writer(|json| {
            json.extend_from_slice(self.start());
            match write(json) {
                Some(meta) if meta.is_empty() => json.extend_from_slice(&self.tail),
                Some(meta) => json.extend_from_slice(&self.tail_with(meta)),
                None => is_written = false,
            }
        });
        is_written.then_some(outcome)
    }

    fn start(&self) -> &'static [u8] {
        match self.era {
            Era::Modern => b"{\"resultType\":\"complete\",",
            Era::Legacy => b"{",
        }
    }

    /// The tail with further members of `_meta`.
    fn tail_with(&self, mut meta: Map<String, Value>) -> Vec<u8> {
        let own = self.tail.strip_prefix(b",\"_meta\":").and_then(|tail| tail.strip_suffix(b"}"));
        let own = own.and_then(|own| serde_json::from_slice::<Map<String, Value>>(own).ok());
        meta.extend(own.unwrap_or_default());
        let mut tail = b",\"_meta\":".to_vec();
        serde_json::to_writer(&mut tail, &meta).expect("JSON values serialise into memory");
        tail.push(b'}');
        tail
    }
}

/// Whether an outcome is a protocol error, not the result of a tool.
pub(super) fn is_protocol_error(outcome: &Outcome, era: Era) -> bool {
    match outcome.code() {
        Some(MISSING_CAPABILITY) => era == Era::Modern,
        // The host can act on these, a model cannot.
        Some(code::UNAUTHENTICATED | code::FORBIDDEN | code::RATE_LIMITED) => true,
        _ => false,
    }
}

/// Adds the declared capabilities to the extensions of a call. Most clients declare none.
fn declare_capabilities(call: &mut Call, request: &Request) {
    let declared = request.meta.client_capabilities.map(|part| call.text(part));
    let Some(declared) = declared.filter(|text| *text != b"{}") else {
        return;
    };
    let capabilities: Map<String, Value> = serde_json::from_slice(declared).unwrap_or_default();
    call.extensions_mut().insert(ClientCapabilities(capabilities));
}
