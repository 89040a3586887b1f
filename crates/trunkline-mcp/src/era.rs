//! Detection of the era of a request, and checks of the members and headers that the era requires.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline::Call;
use trunkline::http::accepts_by_name;

use crate::fault::Fault;
use crate::param_headers::decode;
use crate::protocol::{Legacy, MODERN, header, is_modern, meta, method, shortened};
use crate::request::{Request, is_object, members, string};

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: opened with `initialize`.
    Legacy,
    /// From 2026-07-28 on: stateless.
    Modern,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    /// The first members of a result.
    pub(crate) fn start_of_result(self) -> &'static str {
        match self {
            Self::Legacy => "{",
            Self::Modern => "{\"resultType\":\"complete\",",
        }
    }
}

/// The transport of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport<'a> {
    /// An endpoint of plain JSON-RPC.
    JsonRpc,
    /// The MCP endpoint, with these headers.
    Http(Fields<'a>),
    /// A channel: stdio or HTTP+SSE.
    Channel,
    /// A batch. Notifications of its calls could not be attributed to a member, so none are sent.
    Batch,
}

impl Transport<'_> {
    /// The revision of a request of the first era.
    pub(crate) fn revision(self) -> Legacy {
        match self {
            Self::Http(fields) => match version_header(fields) {
                Ok(Some(version)) => Legacy::parse(version).unwrap_or(Legacy::ASSUMED),
                _ => Legacy::ASSUMED,
            },
            Self::JsonRpc | Self::Channel => Legacy::LATEST,
            Self::Batch => Legacy::ASSUMED,
        }
    }
}

/// The header fields of an HTTP request. Those of the protocol are found in one pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) all: &'a HeaderMap,
    version: Field<'a>,
    method: Field<'a>,
    name: Field<'a>,
    accept: Field<'a>,
    session: Field<'a>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Field<'a> {
    last: Option<&'a HeaderValue>,
    is_repeated: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(all: &'a HeaderMap) -> Self {
        let (version, method, name, accept, session) = Default::default();
        let mut fields = Self { all, version, method, name, accept, session };
        for (name, value) in all {
            let field = match name {
                name if *name == ACCEPT => &mut fields.accept,
                name if *name == header::PROTOCOL_VERSION => &mut fields.version,
                name if *name == header::METHOD => &mut fields.method,
                name if *name == header::NAME => &mut fields.name,
                name if *name == header::SESSION_ID => &mut fields.session,
                _ => continue,
            };
            field.is_repeated = field.last.replace(value).is_some();
        }
        fields
    }

    /// Whether the version header names a revision of the stateless era.
    pub(crate) fn is_modern(&self) -> bool {
        let version = self.version.last.and_then(|version| version.to_str().ok());
        version.is_some_and(is_modern)
    }

    /// Whether the request names a session.
    pub(crate) fn has_session(&self) -> bool {
        self.session.last.is_some()
    }

    /// The only session that the request names.
    pub(crate) fn session_id(&self) -> Option<&'a str> {
        let session = self.session.last.filter(|_| !self.session.is_repeated);
        session.and_then(|session| session.to_str().ok())
    }

    /// Whether the client accepts a stream of events as the reply to a request.
    pub(crate) fn accepts_events(&self) -> bool {
        // Most clients send exactly this value.
        let is_usual = self.accept.last.is_some_and(|value| value == USUAL_ACCEPT);
        is_usual || accepts_by_name(self.all, "text/event-stream")
    }

    /// Whether the client accepts a stream of events, but not JSON.
    pub(crate) fn accepts_only_events(&self) -> bool {
        const OTHERS: [&str; 3] = ["application/json", "application/*", "*/*"];
        let Some(last) = self.accept.last else { return false };
        // The values that most clients send.
        if last == USUAL_ACCEPT || last == OTHERS[0] || last == OTHERS[2] {
            return false;
        }
        self.accepts_events() && !OTHERS.iter().any(|other| accepts_by_name(self.all, other))
    }
}

const USUAL_ACCEPT: &str = "application/json, text/event-stream";

impl<'a> Field<'a> {
    /// The only value, if there is one.
    fn single(self, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Fault> {
        if self.is_repeated {
            return Err(Fault::HeaderMismatch(format!("duplicate header `{name}`")));
        }
        Ok(self.last)
    }
}

pub(crate) const NO_BATCHES: &str =
    "only revision 2025-03-26 supports batches; send each message separately";

/// The era of a request. The checks follow the order of the specification: header and body name different
/// revisions, the revision is not supported, the body lacks a required member, the other headers.
pub(crate) fn of(call: &Call, request: &Request, transport: Transport<'_>) -> Result<Era, Fault> {
    let header = match transport {
        Transport::Http(fields) => version_header(fields)?,
        Transport::JsonRpc | Transport::Channel | Transport::Batch => None,
    };
    let declared = request.meta.protocol_version;
    let modern =
        declared.is_some() || header.is_some_and(is_modern) || call.has_method(method::DISCOVER);
    // The members of notifications of the stateless era are not defined, and notifications start no call.
    if !modern || call.is_notification() {
        return check_known(header).map(|_| Era::Legacy);
    }
    if let Transport::Batch = transport {
        return Err(Fault::Request(NO_BATCHES));
    }
    let version = string(call, declared).ok_or(Fault::Meta(meta::PROTOCOL_VERSION))?;
    if let Transport::Http(_) = transport {
        agree(&header::PROTOCOL_VERSION, header, &version)?;
    }
    if version != MODERN {
        return Err(Fault::UnsupportedVersion(shortened(&version)));
    }
    match request.meta.client_capabilities {
        Some(capabilities) if is_object(call, capabilities) => {}
        _ => return Err(Fault::Meta(meta::CLIENT_CAPABILITIES)),
    }
    if let Transport::Http(fields) = transport {
        check_headers(call, request, fields)?;
    }
    Ok(Era::Modern)
}

/// The revision that the header names, if this server supports it.
pub(crate) fn check_version(fields: Fields<'_>) -> Result<Option<&str>, Fault> {
    check_known(version_header(fields)?)
}

fn check_known(header: Option<&str>) -> Result<Option<&str>, Fault> {
    match header {
        Some(version) if version != MODERN && Legacy::parse(version).is_none() => {
            Err(Fault::UnknownVersionHeader(shortened(version)))
        }
        _ => Ok(header),
    }
}

/// Whether the version header of a message names a revision of the stateless era.
pub(crate) fn is_announced(transport: Transport<'_>) -> bool {
    matches!(transport, Transport::Http(fields) if matches!(version_header(fields), Ok(Some(v)) if is_modern(v)))
}

/// The revision that the header names.
fn version_header(fields: Fields<'_>) -> Result<Option<&str>, Fault> {
    match fields.version.single(&header::PROTOCOL_VERSION)?.map(HeaderValue::to_str) {
        None => Ok(None),
        Some(Ok(version)) => Ok(Some(version)),
        Some(Err(_)) => {
            Err(Fault::HeaderMismatch(format!("`{}` is not ASCII", header::PROTOCOL_VERSION)))
        }
    }
}

/// The headers that repeat the body, so that proxies need not read it ("Standard Request Headers").
fn check_headers(call: &Call, request: &Request, fields: Fields<'_>) -> Result<(), Fault> {
    let method = fields.method.single(&header::METHOD)?;
    let method = method.and_then(|value| value.to_str().ok());
    if !method.is_some_and(|method| call.has_method(method)) {
        agree(&header::METHOD, method, &call.method())?;
    }
    let name = if call.has_method(method::TOOLS_CALL) || call.has_method(method::PROMPTS_GET) {
        request.name
    } else if call.has_method(method::RESOURCES_READ) {
        members(call, ["uri"])?[0]
    } else if [method::TASKS_GET, method::TASKS_UPDATE, method::TASKS_CANCEL]
        .iter()
        .any(|method| call.has_method(method))
    {
        members(call, ["taskId"])?[0]
    } else {
        return Ok(());
    };
    // A request without a name is refused later.
    let Some(name) = string(call, name) else {
        return Ok(());
    };
    let header = fields.name.single(&header::NAME)?;
    let invalid = || Fault::HeaderMismatch(format!("`{}` has an invalid value", header::NAME));
    let header = header.map(|value| decode(value).ok_or_else(invalid)).transpose()?;
    agree(&header::NAME, header.as_deref(), &name)
}

fn agree(name: &HeaderName, header: Option<&str>, body: &str) -> Result<(), Fault> {
    match header {
        None => Err(Fault::HeaderMismatch(format!("`{name}` is missing"))),
        Some(header) if header != body => Err(Fault::HeaderMismatch(format!(
            "`{name}` is `{}`, but the body has `{}`",
            shortened(header),
            shortened(body)
        ))),
        Some(_) => Ok(()),
    }
}
