//! Execution of operations for methods that wrap them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline::protocol::CallFuture;
use trunkline::{Call, ErrorObject, Outcome, code};

use super::Server;
use crate::capabilities::ClientCapabilities;
use crate::era::{Era, Transport};
use crate::log_level::LogLevel;
use crate::notify::{NotificationQueue, RequestedNotifications};
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
    era: Era,
    tail: Bytes,
}

impl Context<'_> {
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

impl Server {
    /// Runs a redirected call through the layers of its operation. `write` creates the result of the wrapping method
    /// from the outcome, outside of the layers.
    pub(super) fn run_operation(
        &self,
        call: Call,
        era: Era,
        write: impl FnOnce(Outcome, &Envelope) -> Outcome + Send + 'static,
    ) -> CallFuture {
        let envelope = Envelope { era, tail: self.results.tail(era) };
        self.rpc.run(call).map(move |outcome| {
            let written = catch_unwind(AssertUnwindSafe(|| write(outcome, &envelope)));
            written.unwrap_or_else(|_| {
                Outcome::error(ErrorObject::internal(&"the rendering of the outcome panicked"))
            })
        })
    }
}

impl Envelope {
    /// A result with the members that `write` appends.
    pub(super) fn write(&self, write: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        Outcome::from_writer(|json| {
            json.extend_from_slice(match self.era {
                Era::Modern => b"{\"resultType\":\"complete\",".as_slice(),
                Era::Legacy => b"{",
            });
            write(json);
            json.extend_from_slice(&self.tail);
        })
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
