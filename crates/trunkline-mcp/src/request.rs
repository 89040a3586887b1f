//! The members of a request's params that the protocol reads.

use std::borrow::Cow;

use trunkline::protocol::{DuplicateMember, Part, Parts, TraceContext, TraceState};
use trunkline::stream::Key;
use trunkline::{Call, Id};

use crate::fault::Fault;
use crate::protocol::meta;

/// The params that the protocol reads. Unknown members are ignored, as the protocol requires.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) name: Option<Part>,
    pub(crate) arguments: Option<Part>,
    pub(crate) cursor: Option<Part>,
    pub(crate) protocol_version: Option<Part>,
    pub(crate) request_id: Option<Part>,
    pub(crate) level: Option<Part>,
    pub(crate) meta: Meta,
}

/// `params._meta`.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    pub(crate) protocol_version: Option<Part>,
    pub(crate) client_capabilities: Option<Part>,
    pub(crate) client_info: Option<Part>,
    pub(crate) log_level: Option<Part>,
    pub(crate) progress_token: Option<Part>,
    pub(crate) traceparent: Option<Part>,
    pub(crate) tracestate: Option<Part>,
}

impl Request {
    /// Finds the members. Duplicates are refused, since readers may disagree about them.
    pub(crate) fn of(call: &Call) -> Result<Self, Fault> {
        const NAMES: [&str; 7] =
            ["name", "arguments", "_meta", "cursor", "protocolVersion", "requestId", "level"];
        const OF_META: [&str; 7] = [
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::LOG_LEVEL,
            "progressToken",
            meta::TRACEPARENT,
            meta::TRACESTATE,
        ];
        if call.params().is_some_and(|params| params.starts_with(b"[")) {
            return Err(Fault::Malformed("`params` must be an object"));
        }
        let found = call.find_members(&NAMES, ("_meta", &OF_META));
        let (found, meta) =
            found.map_err(|DuplicateMember| Fault::Malformed("duplicate member in `params`"))?;
        let [name, arguments, _, cursor, protocol_version, request_id, level] = found;
        let [
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
        ] = meta;
        let meta = Meta {
            protocol_version: version,
            client_capabilities: capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
        };
        Ok(Self { name, arguments, cursor, protocol_version, request_id, level, meta })
    }

    /// The trace of the client in `_meta`. An invalid one is ignored.
    pub(crate) fn trace(&self, call: &Call) -> Option<TraceContext> {
        string(call, self.meta.traceparent)?.parse().ok()
    }

    /// The vendor data of the trace.
    pub(crate) fn trace_state(&self, call: &Call) -> Option<TraceState> {
        TraceState::parse(&string(call, self.meta.tracestate)?)
    }

    /// The id of the request that a notification names.
    pub(crate) fn request_key(&self, call: &Call) -> Option<Key> {
        let id = call.text(self.request_id?);
        std::str::from_utf8(id).ok().map(Key::of)
    }
}

/// Members of the params that few methods have.
pub(crate) fn members<const N: usize>(call: &Call, names: [&str; N]) -> Result<Parts<N>, Fault> {
    let found = call.find_members(&names, ("", &[]));
    let (members, []) =
        found.map_err(|DuplicateMember| Fault::Malformed("duplicate member in `params`"))?;
    Ok(members)
}

/// The value of a part that is a string.
pub(crate) fn string(call: &Call, part: Option<Part>) -> Option<Cow<'_, str>> {
    let text = call.text(part?);
    if let [b'"', inner @ .., b'"'] = text
        && !inner.contains(&b'\\')
    {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(text).ok().map(Cow::Owned)
}

/// Whether an id is valid in MCP: a string or an integer.
pub(crate) fn is_mcp_id(id: &Id) -> bool {
    id.as_raw().starts_with('"') || id.is_integer()
}

/// Whether a part is an object.
pub(crate) fn is_object(call: &Call, part: Part) -> bool {
    call.text(part).starts_with(b"{")
}
