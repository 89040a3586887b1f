//! One request object (JSON-RPC 2.0, section 4): its protocol members, found and checked.

use std::fmt;

use super::grammar::{self, Kind, Scan};
use super::span::{Span, Text};

/// A valid request: the spans of its members in the body.
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
    /// The reason.
    pub reason: InvalidReason,
    /// The id, if it is valid. The response must repeat it.
    pub id: Option<Span>,
}

/// A request, or an invalid one.
pub(crate) type Entry = Result<Request, InvalidRequest>;

/// The reason why a request is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidReason {
    /// It is not an object.
    NotAnObject,
    /// The member is duplicated.
    Duplicate(Member),
    /// The id is not a string, a number or null.
    BadId,
    /// `jsonrpc` is missing.
    NoVersion,
    /// `jsonrpc` is not `"2.0"`.
    WrongVersion,
    /// `method` is missing.
    NoMethod,
    /// `method` is not a string.
    MethodNotAString,
    /// `params` is neither an array nor an object.
    ParamsNotStructured,
    /// `params` is null in a request of this method that is valid otherwise.
    NullParams(Text),
    /// It is a response.
    Response,
}

/// A member of a request. It is small, since each entry of a batch may have one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// `jsonrpc`.
    Version,
    /// `method`.
    Method,
    /// `params`.
    Params,
    /// `id`.
    Id,
}

impl Member {
    /// The name.
    fn name(self) -> &'static str {
        match self {
            Self::Version => "jsonrpc",
            Self::Method => "method",
            Self::Params => "params",
            Self::Id => "id",
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl InvalidReason {
    /// The message for the sender.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotAnObject => "a request must be an object",
            Self::Duplicate(_) => "duplicate member",
            Self::BadId => "`id` must be a string, a number or null",
            Self::NoVersion => "`jsonrpc` is missing; expected \"2.0\"",
            Self::WrongVersion => "`jsonrpc` must be \"2.0\"",
            Self::NoMethod => "`method` is missing",
            Self::MethodNotAString => "`method` must be a string",
            Self::ParamsNotStructured | Self::NullParams(_) => {
                "`params` must be an array or an object, or be omitted"
            }
            Self::Response => "expected a request, found a response",
        }
    }

    /// The invalid member.
    pub(crate) fn member(self) -> Option<&'static str> {
        match self {
            Self::NotAnObject | Self::Response => None,
            Self::Duplicate(member) => Some(member.name()),
            Self::BadId => Some("id"),
            Self::NoVersion | Self::WrongVersion => Some("jsonrpc"),
            Self::NoMethod | Self::MethodNotAString => Some("method"),
            Self::ParamsNotStructured | Self::NullParams(_) => Some("params"),
        }
    }
}

/// Parses the request, or other value, that starts at `at`. Also returns the offset after it.
pub(super) fn request(text: &[u8], at: usize, depth: usize) -> Scan<(Entry, usize)> {
    if text.get(at) != Some(&b'{') {
        let end = grammar::value(text, at, depth)?;
        return Ok((Err(InvalidRequest { reason: InvalidReason::NotAnObject, id: None }), end));
    }
    let depth = grammar::nested(at, depth)?;
    let mut members = Members::default();
    let mut at = grammar::space(text, at + 1);
    if text.get(at) == Some(&b'}') {
        return Ok((members.check(), at + 1));
    }
    loop {
        let end = if let Some(end) = after(text, at, VERSION) {
            members.set_version(true);
            end
        } else {
            let (name, value) = name(text, at)?;
            let start = grammar::space(text, value);
            let (kind, end) = grammar::kind_and_end(text, start, depth)?;
            members.set(name, (kind, Span::new(start, end)), text);
            end
        };
        let (more, next) = grammar::separator(text, end, b'}')?;
        if !more {
            return Ok((members.check(), next));
        }
        at = grammar::space(text, next);
    }
}

/// The version as written by nearly all clients, which takes one comparison.
const VERSION: &[u8; 15] = b"\"jsonrpc\":\"2.0\"";

/// The offset after `spelling`, if it starts at `at`. Its constant length makes this a few comparisons of registers.
#[inline(always)]
fn after<const N: usize>(text: &[u8], at: usize, spelling: &[u8; N]) -> Option<usize> {
    (text.get(at..)?.first_chunk()? == spelling).then_some(at + N)
}

/// The name of a member.
#[derive(Clone, Copy)]
enum Name {
    Version,
    Method,
    Params,
    Id,
    /// `result` or `error`.
    OfResponse,
    Other,
}

/// Reads the name of a member, and returns the offset after its colon.
#[inline]
fn name(text: &[u8], at: usize) -> Scan<(Name, usize)> {
    // The spelling of nearly all clients.
    if let Some(end) = after(text, at, b"\"method\":") {
        return Ok((Name::Method, end));
    }
    if let Some(end) = after(text, at, b"\"params\":") {
        return Ok((Name::Params, end));
    }
    if let Some(end) = after(text, at, b"\"id\":") {
        return Ok((Name::Id, end));
    }
    any_name(text, at)
}

#[inline(never)]
fn any_name(text: &[u8], at: usize) -> Scan<(Name, usize)> {
    let end = grammar::name(text, at)?;
    let span = Span::new(at, end.offset());
    // Parsers disagree on duplicate members, so escaped spellings count as duplicates, too.
    let name = match &*(Text { span, escaped: end.escaped }).value(text) {
        "jsonrpc" => Name::Version,
        "method" => Name::Method,
        "params" => Name::Params,
        "id" => Name::Id,
        "result" | "error" => Name::OfResponse,
        _ => Name::Other,
    };
    Ok((name, grammar::colon(text, end.offset())?))
}

type Value = (Kind, Span);

/// The protocol members found in an object.
#[derive(Default)]
struct Members {
    /// Whether the version is `"2.0"`.
    version: Option<bool>,
    method: Option<Value>,
    params: Option<Value>,
    id: Option<Value>,
    reply: bool,
    duplicate: Option<Member>,
    duplicate_id: bool,
}

impl Members {
    #[inline]
    fn set(&mut self, name: Name, value: Value, text: &[u8]) {
        let (slot, name) = match name {
            Name::Version => {
                let (kind, span) = value;
                let is_right = matches!(kind, Kind::String { escaped } if Text { span, escaped }.is(text, "2.0"));
                return self.set_version(is_right);
            }
            Name::Method => (&mut self.method, Member::Method),
            Name::Params => (&mut self.params, Member::Params),
            Name::Id => (&mut self.id, Member::Id),
            Name::OfResponse => {
                self.reply = true;
                return;
            }
            Name::Other => return,
        };
        if slot.is_some() {
            self.duplicate = Some(name);
            self.duplicate_id |= name == Member::Id;
        }
        *slot = Some(value);
    }

    #[inline]
    fn set_version(&mut self, is_right: bool) {
        if self.version.replace(is_right).is_some() {
            self.duplicate = Some(Member::Version);
        }
    }

    #[inline]
    fn check(&self) -> Result<Request, InvalidRequest> {
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
            Some(true) => {}
            Some(false) => return fail(InvalidReason::WrongVersion),
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
            Some((Kind::Null, _)) => return fail(InvalidReason::NullParams(method)),
            Some(_) => return fail(InvalidReason::ParamsNotStructured),
            None => None,
        };
        Ok(Request { method, params, id })
    }
}
