use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::rpc::{ProtocolError, RpcError};

/// A response object whose form is right.
#[derive(Debug)]
pub(super) struct Response {
    /// None if it is null or absent, which it may be in an error.
    id: Option<Box<RawValue>>,
    pub(super) outcome: Result<Box<RawValue>, ErrorObject>,
}

#[derive(Debug)]
pub(super) struct ErrorObject {
    code: i64,
    message: String,
    data: Option<Box<RawValue>>,
    object: Box<RawValue>,
}

impl Response {
    /// An error may have no id: the server did not get as far as to see it.
    pub(super) fn check_id(&self, expected: u64) -> Result<(), ProtocolError> {
        let Some(id) = &self.id else { return Ok(()) };
        // As a number: `1.0` is the id that was sent, too.
        let is_ours = serde_json::from_str::<f64>(id.get()).is_ok_and(|id| id == expected as f64);
        if is_ours {
            return Ok(());
        }
        let found = id.get().chars().take(100).collect();
        Err(ProtocolError::WrongId { expected, found })
    }
}

impl ErrorObject {
    pub(super) fn at(self, status: StatusCode) -> RpcError {
        let Self { code, message, data, object } = self;
        RpcError { code, message, data, object, status }
    }
}

#[derive(Deserialize)]
struct Members<'m> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'m RawValue>,
}

/// Keeps a null apart from an absent member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
    message: String,
    #[serde(default)]
    data: Option<Box<RawValue>>,
}

/// Whether a text is a request or a notification.
pub(super) fn is_request(body: &[u8]) -> bool {
    members(body).is_ok_and(|members| members.method.is_some())
}

/// Reads a response object (section 5 of JSON-RPC 2.0), or says what is wrong with it.
pub(super) fn parse(body: &[u8]) -> Result<Response, String> {
    let members = members(body)?;
    match members.jsonrpc.map(RawValue::get) {
        Some("\"2.0\"") => {}
        Some(_) => return Err("its `jsonrpc` is not \"2.0\"".to_owned()),
        None => return Err("it has no `jsonrpc`".to_owned()),
    }
    let id = members.id.filter(|id| id.get() != "null").map(ToOwned::to_owned);
    match (members.result, members.error) {
        (Some(_), Some(_)) => Err("it has both a result and an error".to_owned()),
        (None, None) => Err("it has neither a result nor an error".to_owned()),
        (Some(_), None) if id.is_none() => Err("its result is to no call: it has no id".to_owned()),
        (Some(result), None) => Ok(Response { id, outcome: Ok(result.to_owned()) }),
        (None, Some(error)) => Ok(Response { id, outcome: Err(error_object(error)?) }),
    }
}

fn members(body: &[u8]) -> Result<Members<'_>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8".to_owned())?;
    // serde would take an array for the members in their order.
    if text.trim_start().starts_with('[') {
        return Err("it is an array".to_owned());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn error_object(object: &RawValue) -> Result<ErrorObject, String> {
    if !object.get().starts_with('{') {
        return Err("its error is not an object".to_owned());
    }
    let members: Result<ErrorMembers, _> = serde_json::from_str(object.get());
    let members = members.map_err(|error| format!("its error is malformed: {error}"))?;
    Ok(ErrorObject {
        code: members.code,
        message: members.message,
        data: members.data,
        object: object.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<Result<&str, i64>, &str>) {
        let found = parse(body.as_bytes());
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let outcome = found.outcome.as_ref().map(|result| result.get());
                assert_eq!(outcome.map_err(|error| error.code), expected, "{body}");
            }
            (Err(found), Err(part)) => assert!(found.contains(part), "{body}: {found}"),
            (found, _) => panic!("{body}: {found:?}"),
        }
    }

    #[test]
    fn responses() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Ok(Ok("null")));
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1e400}}"#, Ok(Ok(r#"{"a": 1e400}"#)));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"more":2}"#, Ok(Ok("1")));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a"}}"#, Ok(Err(-1)));
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":7,"message":""}}"#, Ok(Err(7)));
        check(r#"{"jsonrpc":"2.0","error":{"code":7,"message":"","data":[]}}"#, Ok(Err(7)));

        check("", Err("EOF"));
        check("[]", Err("an array"));
        check(r#"["2.0",1,2]"#, Err("an array"));
        check("1", Err("invalid type"));
        check(r#"{"id":1,"result":1}"#, Err("no `jsonrpc`"));
        check(r#"{"jsonrpc":2.0,"id":1,"result":1}"#, Err("not \"2.0\""));
        check(r#"{"jsonrpc":"2.0","id":1}"#, Err("neither"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, Err("both"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#, Err("duplicate"));
        check(r#"{"jsonrpc":"2.0","id":null,"result":1}"#, Err("no id"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":null}"#, Err("not an object"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":[1,"a"]}"#, Err("not an object"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"a"}}"#, Err("malformed"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, Err("`message`"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":1} x"#, Err("trailing"));
    }

    #[test]
    fn ids() {
        for (id, is_ours) in [
            ("3", true),
            ("3.0", true),
            ("null", true),
            ("4", false),
            ("\"3\"", false),
            ("[3]", false),
            ("true", false),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":""}}}}"#);
            let response = parse(body.as_bytes()).unwrap();
            assert_eq!(response.check_id(3).is_ok(), is_ours, "{id}");
        }
    }
}
