//! Outcomes of calls.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::error::{ErrorObject, code};

/// The result or the error of a call, without the response object around it.
///
/// A result is serialised once, into a buffer that starts with the first part of the response, so that a single
/// response needs no copy. An outcome is small, since it is moved through every layer.
pub struct Outcome(Result<Reply, Box<ErrorObject>>);

enum Reply {
    /// `{"jsonrpc":"2.0","result":` and the JSON text of the result.
    Json(Vec<u8>),
    /// The JSON text of a result that needs no allocation.
    Short { len: u8, text: [u8; SHORT] },
    /// The start of the response in JSON, and the result in the types of a codec.
    Native(Box<(Vec<u8>, Native)>),
}

/// A value in the types of a [codec](crate::format::Codec).
pub type Native = Box<dyn Any + Send + Sync>;

/// The beginning of a response with a result.
pub const RESULT: &[u8] = b"{\"jsonrpc\":\"2.0\",\"result\":";
/// The beginning of a response with an error.
pub const ERROR: &[u8] = b"{\"jsonrpc\":\"2.0\",\"error\":";
/// The text between the result and the id.
pub(crate) const ID: &[u8] = b",\"id\":";
/// The maximum size of a [short](Reply::Short) result, in bytes. It determines the size of an outcome.
const SHORT: usize = 15;
/// The initial capacity, in bytes. Most responses fit, and take one allocation.
const CAPACITY: usize = 128;
/// The initial capacity of a result [from a writer](Outcome::from_writer), which often contains another result.
const WRITTEN_CAPACITY: usize = 512;

impl Outcome {
    /// A result. A value that does not serialise becomes -32603.
    pub fn result(value: &(impl Serialize + ?Sized)) -> Self {
        let mut json = Vec::with_capacity(CAPACITY);
        json.extend_from_slice(RESULT);
        match serde_json::to_writer(&mut json, value) {
            Ok(()) => Self(Ok(Reply::Json(json))),
            Err(error) => Self::error(ErrorObject::internal(&error)),
        }
    }

    /// The result of a type whose JSON text is usually short: a number, a boolean or `null`.
    pub(crate) fn short(value: &impl Serialize) -> Self {
        let mut text = [0; SHORT];
        let mut rest = &mut text[..];
        match serde_json::to_writer(&mut rest, value) {
            Ok(()) => {
                let len = (SHORT - rest.len()) as u8;
                Self(Ok(Reply::Short { len, text }))
            }
            Err(_) => Self::result(value),
        }
    }

    /// A result whose JSON text is appended by `write`, for results composed of JSON text. `write` must append
    /// exactly one JSON value, which is not validated.
    #[must_use]
    pub fn from_writer(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut json = Vec::with_capacity(WRITTEN_CAPACITY);
        json.extend_from_slice(RESULT);
        write(&mut json);
        Self(Ok(Reply::Json(json)))
    }

    /// A result in the types of a codec, and its equivalent in JSON, which is not validated. Replies in the format of the
    /// codec have the exact value.
    #[must_use]
    pub fn from_native(json: &[u8], value: Native) -> Self {
        let json = [RESULT, json].concat();
        Self(Ok(Reply::Native(Box::new((json, value)))))
    }

    /// The result in the types of a codec, if it [has one](Self::from_native) of this type.
    #[must_use]
    pub fn native<T: 'static>(&self) -> Option<&T> {
        match &self.0 {
            Ok(Reply::Native(reply)) => reply.1.downcast_ref(),
            _ => None,
        }
    }

    /// An error.
    #[must_use]
    pub fn error(error: ErrorObject) -> Self {
        Self(Err(Box::new(error)))
    }

    /// The result's JSON text, or the error.
    ///
    /// # Errors
    /// The error object of a call that failed.
    pub fn as_result(&self) -> Result<&[u8], &ErrorObject> {
        match &self.0 {
            Ok(reply) => Ok(reply.result()),
            Err(error) => Err(error),
        }
    }

    /// The size of the result in bytes. 0 for an error.
    pub(crate) fn len(&self) -> usize {
        self.as_result().map_or(0, <[u8]>::len)
    }

    /// A copy, for another call with the same outcome.
    pub fn duplicate(&self) -> Self {
        match &self.0 {
            Ok(Reply::Short { len, text }) => Self(Ok(Reply::Short { len: *len, text: *text })),
            Ok(reply) => Self::from_writer(|json| json.extend_from_slice(reply.result())),
            Err(error) => Self(Err(error.clone())),
        }
    }

    /// The error's code, if the call failed.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        self.0.as_ref().err().map(|error| error.code())
    }

    /// The response object (section 5) for the call with this id.
    pub fn into_response(self, id: &[u8]) -> Vec<u8> {
        let mut json = self.into_open_response();
        json.extend_from_slice(ID);
        json.extend_from_slice(id);
        json.push(b'}');
        json
    }

    /// The response object without an id.
    pub(crate) fn into_response_without_id(self) -> Vec<u8> {
        let mut json = self.into_open_response();
        json.push(b'}');
        json
    }

    /// The response object without its last member and the closing brace.
    fn into_open_response(self) -> Vec<u8> {
        match self.0 {
            Ok(Reply::Json(json)) => json,
            Ok(Reply::Short { len, text }) => {
                let mut json = Vec::with_capacity(CAPACITY);
                json.extend_from_slice(RESULT);
                json.extend_from_slice(&text[..usize::from(len)]);
                json
            }
            Ok(Reply::Native(reply)) => reply.0,
            Err(error) => {
                let mut json = Vec::with_capacity(CAPACITY);
                json.extend_from_slice(ERROR);
                error.write_to(&mut json);
                json
            }
        }
    }

    /// -32004 for a call of a batch that was not started before its timeout.
    pub(crate) fn not_started(limit: Duration) -> Self {
        let reason =
            "earlier calls of the batch took longer than the timeout; this call was not run";
        let data = serde_json::json!({ "reason": reason, "timeout_ms": limit.as_millis() as u64 });
        Self::error(ErrorObject::new(code::TIMEOUT, "Call timed out").with_data(&data))
    }

    /// -32006 in place of a result that exceeds the limit of the replies to a body.
    pub fn reply_too_large(limit: usize) -> Self {
        let reason =
            "the replies to this body exceed the limit; request less data or send smaller batches";
        let error = ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large");
        Self::error(error.with_data(&serde_json::json!({ "reason": reason, "limit_bytes": limit })))
    }
}

impl Reply {
    /// The JSON text of the result.
    fn result(&self) -> &[u8] {
        match self {
            Self::Json(json) => &json[RESULT.len()..],
            Self::Short { len, text } => &text[..usize::from(*len)],
            Self::Native(reply) => &reply.0[RESULT.len()..],
        }
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_result() {
            Ok(json) => write!(f, "Outcome({})", String::from_utf8_lossy(json)),
            Err(error) => write!(f, "Outcome({error:?})"),
        }
    }
}
