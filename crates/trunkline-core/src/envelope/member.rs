//! One request object (JSON-RPC 2.0, section 4): its protocol members, found and checked.

use super::fault::ScanError;
use super::scan::{Kind, Scanner};
use super::span::{Span, Text};

/// A valid request: where its members stand in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The method's name.
    pub method: Text,
    /// An array or an object.
    pub params: Option<Span>,
    /// A string, a number or null; absent in a notification.
    pub id: Option<Span>,
}

/// Valid JSON that is not a valid request (-32600).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRequest {
    /// What is wrong.
    pub reason: InvalidReason,
    /// The id, when one can be told: it must be echoed.
    pub id: Option<Span>,
}

/// What makes a request invalid, worded for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidReason {
    /// It is no object.
    NotAnObject,
    /// This member is there twice.
    Duplicate(&'static str),
    /// The id is no string, number or null.
    BadId,
    /// There is no `jsonrpc`.
    NoVersion,
    /// `jsonrpc` is not `"2.0"`.
    WrongVersion,
    /// There is no `method`.
    NoMethod,
    /// `method` is no string.
    MethodNotAString,
    /// `params` is no array and no object.
    ParamsNotStructured,
    /// It is a response.
    Response,
}

impl InvalidReason {
    /// What is wrong and what would be right.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotAnObject => "a request is an object",
            Self::Duplicate(_) => "the member stands twice",
            Self::BadId => "id is a string, a number or null",
            Self::NoVersion => "the member \"jsonrpc\": \"2.0\" is missing",
            Self::WrongVersion => "jsonrpc must be exactly \"2.0\"",
            Self::NoMethod => "the member \"method\" is missing",
            Self::MethodNotAString => "method is a string",
            Self::ParamsNotStructured => {
                "params is an array or an object; leave it out when there are none"
            }
            Self::Response => "this is a response, and a server takes requests",
        }
    }

    /// The member at fault.
    pub(crate) fn member(self) -> Option<&'static str> {
        match self {
            Self::NotAnObject | Self::Response => None,
            Self::Duplicate(member) => Some(member),
            Self::BadId => Some("id"),
            Self::NoVersion | Self::WrongVersion => Some("jsonrpc"),
            Self::NoMethod | Self::MethodNotAString => Some("method"),
            Self::ParamsNotStructured => Some("params"),
        }
    }
}

/// Scans one element of a body that is not an array: a request, or anything else.
pub(crate) fn request(
    scanner: &mut Scanner<'_>,
    text: &[u8],
) -> Result<Result<Request, InvalidRequest>, ScanError> {
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        let reason = InvalidReason::NotAnObject;
        return Ok(Err(InvalidRequest { reason, id: None }));
    }
    let mut members = Members::default();
    scanner.object(|scanner, name| {
        let value = scanner.value()?;
        members.record(name, value, text);
        Ok::<_, ScanError>(())
    })?;
    Ok(members.check(text))
}

type Value = (Kind, Span);

/// The protocol members of an object, as found.
#[derive(Default)]
struct Members {
    version: Option<Value>,
    method: Option<Value>,
    params: Option<Value>,
    id: Option<Value>,
    reply: bool,
    duplicate: Option<&'static str>,
    duplicate_id: bool,
}

impl Members {
    fn record(&mut self, name: Text, value: Value, text: &[u8]) {
        // Two readers of a duplicate member may disagree, so every spelling counts.
        let unescaped;
        let name = if name.escaped {
            unescaped = name.unescape(text);
            unescaped.as_bytes()
        } else {
            name.inner(text)
        };
        let (slot, name) = match name {
            b"jsonrpc" => (&mut self.version, "jsonrpc"),
            b"method" => (&mut self.method, "method"),
            b"params" => (&mut self.params, "params"),
            b"id" => (&mut self.id, "id"),
            b"result" | b"error" => {
                self.reply = true;
                return;
            }
            _ => return,
        };
        if slot.replace(value).is_some() {
            self.duplicate = Some(name);
            self.duplicate_id |= name == "id";
        }
    }

    fn check(&self, text: &[u8]) -> Result<Request, InvalidRequest> {
        let id = self.id.map(|(_, span)| span);
        let known_id = match self.id {
            Some((Kind::Null | Kind::Number | Kind::String { .. }, span)) if !self.duplicate_id => {
                Some(span)
            }
            _ => None,
        };
        let fail = |reason| Err(InvalidRequest { reason, id: known_id });

        if let Some(member) = self.duplicate {
            return fail(InvalidReason::Duplicate(member));
        }
        if id.is_some() && known_id.is_none() {
            return fail(InvalidReason::BadId);
        }
        match self.version {
            Some((Kind::String { escaped }, span)) if Text { span, escaped }.is(text, "2.0") => {}
            Some(_) => return fail(InvalidReason::WrongVersion),
            None => return fail(InvalidReason::NoVersion),
        }
        let method = match self.method {
            Some((Kind::String { escaped }, span)) => Text { span, escaped },
            Some(_) => return fail(InvalidReason::MethodNotAString),
            None if self.reply => return fail(InvalidReason::Response),
            None => return fail(InvalidReason::NoMethod),
        };
        let params = match self.params {
            Some((Kind::Array | Kind::Object, span)) => Some(span),
            Some(_) => return fail(InvalidReason::ParamsNotStructured),
            None => None,
        };
        Ok(Request { method, params, id })
    }
}
