//! A parser of responses (JSON-RPC 2.0, section 5). Deviations whose meaning is certain are accepted.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_core::envelope::{Kind, ScanError, Scanner, Span, Text};
use trunkline_core::error::{ErrorObject, excerpt};
use trunkline_core::id::Id;
use trunkline_core::limits::calls::Limits;
use trunkline_core::outcome::Outcome;

use super::error::ProtocolError;
use crate::frame::Key;

/// A valid response object.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The id. `None` if it is null or absent, which is valid for an error.
    pub id: Option<Id>,
    /// The outcome of the call.
    pub outcome: Outcome,
}

impl Response {
    /// Parses the reply to a single call.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`] if the body is not a response object.
    pub fn parse(body: &Bytes) -> Result<Self, ProtocolError> {
        match parse(body)? {
            Body::Single(response) => Ok(response),
            Body::Batch(_) => Err(malformed("array in reply to a single call", body)),
        }
    }

    /// Returns the outcome if the response belongs to the call with this id. An error without an id is
    /// accepted: the server could not read the id. So is an integer in the other type, as text or number, since it is the
    /// reply to this call.
    ///
    /// # Errors
    /// [`ProtocolError::WrongId`] if the response has another id.
    pub fn outcome_of(self, expected: &Id) -> Result<Outcome, ProtocolError> {
        match &self.id {
            Some(found) if found != expected && !is_same(found, expected) => {
                let found = shortened(found);
                Err(ProtocolError::WrongId { expected: expected.to_string(), found })
            }
            _ => Ok(self.outcome),
        }
    }
}

fn is_same(found: &Id, expected: &Id) -> bool {
    let (found, expected) = (Key::from(found), Key::from(expected));
    found == expected || found.in_other_type().as_ref() == Some(&expected)
}

/// The content of a body.
#[derive(Debug)]
pub(crate) enum Body {
    Single(Response),
    Batch(Vec<Response>),
}

/// Whether a body contains an error response, also as a member of a batch.
pub(crate) fn is_error(body: &Bytes) -> bool {
    let failed = |response: &Response| response.outcome.code().is_some();
    match read(body) {
        Ok(Body::Single(response)) => failed(&response),
        Ok(Body::Batch(responses)) => responses.iter().any(failed),
        Err(_) => false,
    }
}

/// An id, truncated for error messages.
pub(crate) fn shortened(id: &Id) -> String {
    excerpt(id.as_raw(), 100).into_owned()
}

/// Parses a body.
pub(crate) fn parse(body: &Bytes) -> Result<Body, ProtocolError> {
    read(body).map_err(|reason| malformed(reason, body))
}

pub(crate) fn malformed(reason: impl Into<String>, body: &[u8]) -> ProtocolError {
    ProtocolError::Malformed { reason: reason.into(), beginning: beginning(body) }
}

/// The first 200 bytes of a body, for error messages.
pub(crate) fn beginning(body: &[u8]) -> String {
    const LENGTH: usize = 200;
    let text = String::from_utf8_lossy(&body[..body.len().min(LENGTH)]);
    if body.len() > LENGTH { format!("{text}…") } else { text.into_owned() }
}

fn read(body: &Bytes) -> Result<Body, String> {
    if std::str::from_utf8(body).is_err() {
        return Err("not UTF-8".to_owned());
    }
    if u32::try_from(body.len()).is_err() {
        return Err("4 GiB or larger".to_owned());
    }
    let mut scanner = Scanner::new(body, Limits::MAX_DEPTH);
    let read = match scanner.peek() {
        None => return Err("empty body".to_owned()),
        Some(b'[') => {
            let mut responses = Vec::new();
            scanner.array(|scanner| {
                responses.push(response(scanner, body)?);
                Ok::<_, Fault>(())
            })?;
            Body::Batch(responses)
        }
        Some(_) => Body::Single(response(&mut scanner, body)?),
    };
    scanner.finish().map_err(Fault::from)?;
    Ok(read)
}

/// The defect of a body.
struct Fault(String);

impl From<ScanError> for Fault {
    fn from(error: ScanError) -> Self {
        Self(error.to_string())
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.0
    }
}

type Value = (Kind, Span);

#[derive(Default)]
struct Members {
    version: Option<Value>,
    id: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
}

fn response(scanner: &mut Scanner<'_>, body: &Bytes) -> Result<Response, Fault> {
    let fail = |reason: &str| Err(Fault(reason.to_owned()));
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return fail("response is not an object");
    }
    let mut members = Members::default();
    scanner.object(|scanner, name| {
        let value = scanner.value()?;
        let (slot, name) = match &*name.value(body) {
            "jsonrpc" => (&mut members.version, "jsonrpc"),
            "id" => (&mut members.id, "id"),
            "result" => (&mut members.result, "result"),
            "error" => (&mut members.error, "error"),
            _ => return Ok(()),
        };
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(Fault(format!("duplicate `{name}`"))),
        }
    })?;
    match members.version {
        Some((Kind::String { escaped }, span)) if Text { span, escaped }.is(body, "2.0") => {}
        Some(_) => return fail("`jsonrpc` is not \"2.0\""),
        None => return fail("`jsonrpc` is missing"),
    }
    let id = match members.id {
        None | Some((Kind::Null, _)) => None,
        Some((Kind::Number | Kind::String { .. }, span)) => {
            Some(Id::from_raw(body.slice(span.range())))
        }
        Some(_) => return fail("`id` is not a string, number or null"),
    };
    match (members.result, members.error) {
        // Servers of JSON-RPC 1.0 send both, and one of them is null.
        (result, Some((Kind::Null, _))) => success(result, id, body),
        (None | Some((Kind::Null, _)), Some((Kind::Object, error))) => {
            let outcome = Outcome::error(error_object(error.of(body))?);
            Ok(Response { id, outcome })
        }
        (Some(_), Some(_)) => fail("both a result and an error"),
        (None, None) => fail("neither a result nor an error"),
        (result, None) => success(result, id, body),
        (None, Some(_)) => fail("`error` is not an object"),
    }
}

/// A response without an error. Its result is null if it is missing.
fn success(result: Option<Value>, id: Option<Id>, body: &Bytes) -> Result<Response, Fault> {
    if id.is_none() {
        return Err(Fault("result without an `id`".to_owned()));
    }
    let result: &[u8] = match &result {
        Some((_, result)) => result.of(body),
        None => b"null",
    };
    Ok(Response { id, outcome: Outcome::from_writer(|out| out.extend_from_slice(result)) })
}

#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
    message: String,
    #[serde(default, deserialize_with = "present")]
    data: Option<Box<RawValue>>,
}

/// Distinguishes a null member from an absent one.
fn present<'de, D>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

fn error_object(text: &[u8]) -> Result<ErrorObject, Fault> {
    let members: Result<ErrorMembers, _> = serde_json::from_slice(text);
    let ErrorMembers { code, message, data } =
        members.map_err(|error| Fault(format!("malformed `error`: {error}")))?;
    let error = ErrorObject::new(code, message);
    Ok(match data {
        Some(data) => error.with_data(&data),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<Result<&str, i64>, &str>) {
        let body = Bytes::copy_from_slice(body.as_bytes());
        match (parse(&body), expected) {
            (Ok(Body::Single(found)), Ok(expected)) => {
                let outcome = found.outcome.as_result();
                let outcome = outcome.map(|json| std::str::from_utf8(json).unwrap());
                assert_eq!(outcome.map_err(ErrorObject::code), expected, "{body:?}");
            }
            (Err(ProtocolError::Malformed { reason, .. }), Err(part)) => {
                assert!(reason.contains(part), "{body:?}: {reason}");
            }
            (found, _) => panic!("{body:?}: {found:?}"),
        }
    }

    #[test]
    fn parses_responses() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Ok(Ok("null")));
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1e400}}"#, Ok(Ok(r#"{"a": 1e400}"#)));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"more":2}"#, Ok(Ok("1")));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a"}}"#, Ok(Err(-1)));
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":7,"message":""}}"#, Ok(Err(7)));
        check(r#"{"jsonrpc":"2.0","error":{"code":7,"message":"","data":[]}}"#, Ok(Err(7)));

        // As in JSON-RPC 1.0.
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}"#, Ok(Ok(r#"{"a":1}"#)));
        check(r#"{"jsonrpc":"2.0","error": null ,"id":1,"result":0}"#, Ok(Ok("0")));
        check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, Ok(Ok("null")));
        check(r#"{"jsonrpc":"2.0","id":1,"error":null}"#, Ok(Ok("null")));
        let refused = r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":7,"message":""}}"#;
        check(refused, Ok(Err(7)));

        check("", Err("empty"));
        check("1", Err("not an object"));
        check(r#"{"id":1,"result":1}"#, Err("`jsonrpc` is missing"));
        check(r#"{"jsonrpc":2.0,"id":1,"result":1}"#, Err("not \"2.0\""));
        check(r#"{"jsonrpc":"2.0","id":1}"#, Err("neither"));
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
            Err("both"),
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":"no"}"#, Err("both"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":"no"}"#, Err("both"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#, Err("duplicate `result`"));
        check(r#"{"jsonrpc":"2.0","id":1,"r\u0065sult":1,"result":2}"#, Err("duplicate `result`"));
        check(r#"{"jsonrpc":"2.0","id":null,"result":1}"#, Err("without an `id`"));
        check(r#"{"jsonrpc":"2.0","id":[1],"result":1}"#, Err("`id` is not"));
        check(r#"{"jsonrpc":"2.0","id":null,"result":1,"error":null}"#, Err("without an `id`"));
        check(r#"{"jsonrpc":"2.0","error":null}"#, Err("without an `id`"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, Err("not an object"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":[1,"a"]}"#, Err("not an object"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"a"}}"#, Err("malformed"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, Err("`message`"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1} x"#, Err("at byte 36"));
        check(r#"{"jsonrpc":"2.0","id":1,"resu"#, Err("at byte 29"));
    }

    #[track_caller]
    fn check_id(found: &str, expected: i64, same: bool) {
        let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":7,"message":""}}"#;
        let body = Bytes::from(error.replace("ID", found));
        let outcome = Response::parse(&body).unwrap().outcome_of(&Id::from(expected));
        assert_eq!(outcome.is_ok(), same, "{found} and {expected}: {outcome:?}");
    }

    #[test]
    fn compares_ids_as_numbers() {
        check_id("3", 3, true);
        check_id("3.0", 3, true);
        check_id("30e-1", 3, true);
        check_id("4", 3, false);
        check_id("\"3\"", 3, true);
        check_id("\"-3\"", -3, true);
        check_id("\"4\"", 3, false);
        check_id("\"03\"", 3, false);
        check_id("\"3.0\"", 3, false);
        check_id("\" 3\"", 3, false);
        check_id("9007199254740993", 9_007_199_254_740_992, false);
        check_id("9223372036854775807", i64::MAX, true);
    }
}
