//! Which era a request is of, and whether it says all that the era wants it to say.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use trunkline::Call;

use crate::fault::{Fault, shortened};
use crate::log_level::LogLevel;
use crate::param_headers::{decode, single};
use crate::protocol::{Legacy, MODERN, header, is_modern, meta, method};
use crate::request::{Request, is_object, string};

/// The two shapes of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: opened with `initialize`.
    Legacy,
    /// From 2026-07-28 on: each request stands alone.
    Modern,
}

/// How a message came.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way<'a> {
    /// Through a door of JSON-RPC, where MCP's methods are guests.
    Plain,
    /// To the MCP endpoint, with these headers.
    Http(&'a HeaderMap),
    /// From a client that has a channel of its own, stdio or HTTP+SSE, and wants log messages from
    /// this level on.
    Channel(LogLevel),
    /// In a batch, of which notifications could not be told apart.
    Batch,
}

pub(crate) const NO_BATCHES: &str =
    "only revision 2025-03-26 has batches; send each message by itself";

/// The era of a request. What is wrong with it is told in the order in which the specification's
/// sections build on each other: header and body disagree, both name a revision that is not spoken,
/// the body lacks what the revision wants, the other headers.
pub(crate) fn of(call: &Call, request: &Request, way: Way<'_>) -> Result<Era, Fault> {
    let header = match way {
        Way::Http(headers) => version_header(headers)?,
        Way::Plain | Way::Channel(_) | Way::Batch => None,
    };
    let declared = request.meta.protocol_version;
    let modern =
        declared.is_some() || header.is_some_and(is_modern) || call.method() == method::DISCOVER;
    // What a notification of the stateless era carries is not defined, and it runs nothing.
    if !modern || call.is_notification() {
        return match header {
            Some(version) if !is_known(version) => {
                Err(Fault::UnknownVersionHeader(shortened(version)))
            }
            _ => Ok(Era::Legacy),
        };
    }
    if let Way::Batch = way {
        return Err(Fault::Request(NO_BATCHES));
    }
    let version = string(call, declared).ok_or(Fault::Meta(meta::PROTOCOL_VERSION))?;
    if let Way::Http(_) = way {
        agree(&header::PROTOCOL_VERSION, header, &version)?;
    }
    if version != MODERN {
        return Err(Fault::UnsupportedVersion(shortened(&version)));
    }
    match request.meta.client_capabilities {
        Some(capabilities) if is_object(call, capabilities) => {}
        _ => return Err(Fault::Meta(meta::CLIENT_CAPABILITIES)),
    }
    if let Way::Http(headers) = way {
        check_headers(call, request, headers)?;
    }
    Ok(Era::Modern)
}

fn is_known(version: &str) -> bool {
    version == MODERN || Legacy::parse(version).is_some()
}

/// Whether a message says in its header that it is of the stateless era.
pub(crate) fn is_announced(way: Way<'_>) -> bool {
    matches!(way, Way::Http(headers) if matches!(version_header(headers), Ok(Some(v)) if is_modern(v)))
}

/// The revision that the header names.
pub(crate) fn version_header(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let value = single(headers, &header::PROTOCOL_VERSION).map_err(Fault::HeaderMismatch)?;
    match value.map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(version)) => Ok(Some(version)),
        Some(Err(_)) => {
            Err(Fault::HeaderMismatch(format!("{} is not ASCII", header::PROTOCOL_VERSION)))
        }
    }
}

/// The headers that repeat the body, so that proxies need not read it ("Standard Request Headers").
fn check_headers(call: &Call, request: &Request, headers: &HeaderMap) -> Result<(), Fault> {
    let method = single(headers, &header::METHOD).map_err(Fault::HeaderMismatch)?;
    let method = method.and_then(|value| value.to_str().ok());
    agree(&header::METHOD, method, &call.method())?;
    if call.method() != method::TOOLS_CALL {
        return Ok(());
    }
    // Without a name the request is refused for that.
    let Some(name) = string(call, request.name) else {
        return Ok(());
    };
    let header = single(headers, &header::NAME).map_err(Fault::HeaderMismatch)?;
    let invalid = || Fault::HeaderMismatch(format!("{} has an invalid value", header::NAME));
    let header: Option<Cow<'_, str>> = match header {
        Some(value) => Some(decode(value).ok_or_else(invalid)?.into()),
        None => None,
    };
    agree(&header::NAME, header.as_deref(), &name)
}

fn agree(name: &HeaderName, header: Option<&str>, body: &str) -> Result<(), Fault> {
    match header {
        None => Err(Fault::HeaderMismatch(format!("{name} is missing"))),
        Some(header) if header != body => Err(Fault::HeaderMismatch(format!(
            "{name} is '{}', and the body says '{}'",
            shortened(header),
            shortened(body)
        ))),
        Some(_) => Ok(()),
    }
}
