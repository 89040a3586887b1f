//! The members of a request's params that the protocol reads.

use std::borrow::Cow;

use trunkline::protocol::Part;
use trunkline::{Call, Id};

use crate::fault::Fault;
use crate::protocol::meta;

/// Params in part read. What a method does not know it ignores, as the protocol wants it.
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
    pub(crate) log_level: Option<Part>,
    pub(crate) progress_token: Option<Part>,
}

impl Request {
    /// Two readers of a member that stands twice may disagree, so it is refused.
    pub(crate) fn of(call: &Call) -> Result<Self, Fault> {
        if call.params().is_some_and(|params| params.starts_with(b"[")) {
            return Err(Fault::Malformed("MCP's params are an object"));
        }
        let mut request = Self::default();
        let mut meta = None;
        for (name, value) in call.members() {
            let slot = match &*name {
                "name" => &mut request.name,
                "arguments" => &mut request.arguments,
                "cursor" => &mut request.cursor,
                "protocolVersion" => &mut request.protocol_version,
                "requestId" => &mut request.request_id,
                "level" => &mut request.level,
                "_meta" => &mut meta,
                _ => continue,
            };
            fill(slot, value)?;
        }
        if let Some(meta) = meta {
            request.meta = Meta::of(call, meta)?;
        }
        Ok(request)
    }
}

impl Meta {
    fn of(call: &Call, meta: Part) -> Result<Self, Fault> {
        let mut read = Self::default();
        for (name, value) in call.members_of(meta) {
            let slot = match &*name {
                meta::PROTOCOL_VERSION => &mut read.protocol_version,
                meta::CLIENT_CAPABILITIES => &mut read.client_capabilities,
                meta::LOG_LEVEL => &mut read.log_level,
                "progressToken" => &mut read.progress_token,
                _ => continue,
            };
            fill(slot, value)?;
        }
        Ok(read)
    }
}

fn fill(slot: &mut Option<Part>, value: Part) -> Result<(), Fault> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Fault::Malformed("a member of params stands twice")),
    }
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

/// Whether an id is one of MCP's: a string, or an integer.
pub(crate) fn is_mcp_id(id: &Id) -> bool {
    let text = id.as_raw();
    text.starts_with('"') || is_integer(text)
}

/// Whether the text of a JSON value is an integer, and written as one.
pub(crate) fn is_integer(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

/// Whether a part is an object.
pub(crate) fn is_object(call: &Call, part: Part) -> bool {
    call.text(part).starts_with(b"{")
}
