//! Requests of methods that wrap operations, and the members that their results have in common.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline::access::Principal;
use trunkline::protocol::compact;
use trunkline::{Call, Outcome, code};

use super::task_runner::PreparedTask;
use crate::client_info::ClientInfo;
use crate::era::{Era, Transport};
use crate::message_queue::MessageQueue;
use crate::peer::{Binding, Rounds};
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::{Legacy, method};
use crate::request::{Request, members};
use crate::session::Session;

/// A request, its era and its transport.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) request: &'a Request,
    pub(super) era: Era,
    pub(super) transport: Transport<'a>,
    /// The state of a client of the first era.
    pub(super) session: Option<&'a Arc<Session>>,
}

/// The state of a request while its operation runs.
pub(super) struct Attached {
    pub(super) era: Era,
    /// The messages to the client, if it accepts any.
    pub(super) messages: Option<Arc<MessageQueue>>,
    /// The requests to a client of the stateless era, and the origin of its call.
    pub(super) rounds: Option<(Arc<Rounds>, Origin)>,
    /// The task that the call may become.
    pub(super) task: Option<PreparedTask>,
}

/// The properties of a request that are the same in each of its rounds.
pub(super) struct Origin {
    pub(super) principal: Option<Principal>,
    pub(super) method: &'static str,
    pub(super) parts: [Option<Bytes>; 3],
    pub(super) round: u32,
}

impl Attached {
    /// A request of which the client only receives the result.
    pub(super) fn none(era: Era) -> Self {
        Self { era, messages: None, rounds: None, task: None }
    }

    /// Adds the task that the call may become.
    pub(super) fn add_task(&mut self, call: &mut Call, prepared: PreparedTask) {
        if let Some((rounds, _)) = &self.rounds {
            rounds.set_task(&prepared.task);
            call.extensions_mut().insert(Arc::clone(&prepared.task));
            self.task = Some(prepared);
        }
    }
}

impl Origin {
    pub(super) fn binding(&self) -> Binding {
        let text = |part: &Option<Bytes>| match part {
            Some(json) => compact(&String::from_utf8_lossy(json)),
            None => String::new(),
        };
        let parts = self.parts.each_ref().map(text);
        let [name, uri, arguments] = parts.each_ref().map(String::as_bytes);
        // Callers without a name differ from those without a principal.
        let principal = self.principal.as_ref();
        let principal = principal.map(|caller| caller.owner_key().unwrap_or_default());
        Binding::new(principal, &[self.method.as_bytes(), name, uri, arguments])
    }
}

/// The members that all results of an era have.
pub(super) struct Envelope {
    pub(super) era: Era,
    /// The last members, and the closing brace.
    pub(super) tail: Bytes,
}

impl Context<'_> {
    /// The name and version of the client of a request: those of its session or channel, or in `_meta`. `None` if the
    /// client gives none.
    pub(super) fn client_info(self, call: &Call) -> Option<ClientInfo> {
        let part = match (self.era, self.session) {
            (Era::Modern, _) => self.request.meta.client_info,
            (Era::Legacy, Some(session)) if !call.has_method(method::INITIALIZE) => {
                return session.client_info();
            }
            (Era::Legacy, _) => members(call, ["clientInfo"]).ok()?[0],
        };
        ClientInfo::parse(call.text(part?))
    }

    /// The revision of the request, or the latest one of the first era, which has the same content as later ones.
    pub(super) fn revision(self) -> Legacy {
        match self.era {
            Era::Modern => Legacy::LATEST,
            Era::Legacy => {
                let of_session = self.session.and_then(|session| session.version());
                of_session.unwrap_or_else(|| self.transport.revision())
            }
        }
    }
}

impl Envelope {
    /// A result with the members that `write` appends.
    pub(super) fn write(&self, write: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        Outcome::from_writer(|json| {
            json.extend_from_slice(self.era.start_of_result().as_bytes());
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
            json.extend_from_slice(self.era.start_of_result().as_bytes());
            match write(json) {
                Some(meta) if meta.is_empty() => json.extend_from_slice(&self.tail),
                Some(meta) => json.extend_from_slice(&self.tail_with(meta)),
                None => is_written = false,
            }
        });
        is_written.then_some(outcome)
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
