//! What comes of a call.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::error::{ErrorObject, code};

/// A call's result or its error, without the envelope around it.
///
/// A result is serialised once, here, behind the beginning of the reply that it becomes: a
/// single reply needs no copy, and a batch appends the same bytes. An outcome is moved through
/// every layer, so it is kept small.
pub struct Outcome(Result<Reply, Box<ErrorObject>>);

enum Reply {
    /// `{"jsonrpc":"2.0","result":` and the JSON text of the result.
    Json(Vec<u8>),
    /// The JSON text of a result that needs no allocation.
    Short { len: u8, text: [u8; SHORT] },
    /// What is also known as EDN.
    #[cfg(feature = "edn")]
    Edn(Box<(Vec<u8>, trunkline_edn::Value)>),
}

/// The beginning of a response with a result.
pub const RESULT: &[u8] = b"{\"jsonrpc\":\"2.0\",\"result\":";
/// The beginning of a response with an error.
pub const ERROR: &[u8] = b"{\"jsonrpc\":\"2.0\",\"error\":";
/// The text between the result and the id.
pub(crate) const ID: &[u8] = b",\"id\":";
/// The maximum size of a [short](Reply::Short) result. A larger one would make all outcomes larger.
const SHORT: usize = 15;
/// Most results with their envelope fit, so that most replies are one allocation.
const CAPACITY: usize = 128;
/// The initial capacity of a [written](Outcome::written) result, which often contains another one.
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

    /// A result that `write` appends as JSON text. It must append one JSON value: this is for what
    /// is put together from values that are text already, and nothing checks it again.
    #[must_use]
    pub fn written(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut json = Vec::with_capacity(WRITTEN_CAPACITY);
        json.extend_from_slice(RESULT);
        write(&mut json);
        Self(Ok(Reply::Json(json)))
    }

    /// A result that is EDN, or why it has no JSON.
    #[cfg(feature = "edn")]
    pub(crate) fn of_edn(value: trunkline_edn::Value) -> Result<Self, trunkline_edn::Error> {
        let mut json = String::from_utf8_lossy(RESULT).into_owned();
        trunkline_edn::json::write(&value, &Default::default(), &mut json)?;
        Ok(Self(Ok(Reply::Edn(Box::new((json.into_bytes(), value))))))
    }

    /// The result, if it is EDN.
    #[cfg(feature = "edn")]
    pub(crate) fn as_edn(&self) -> Option<&trunkline_edn::Value> {
        match &self.0 {
            Ok(Reply::Edn(reply)) => Some(&reply.1),
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

    /// How many bytes its result has; an error is small.
    pub(crate) fn len(&self) -> usize {
        self.as_result().map_or(0, <[u8]>::len)
    }

    /// A copy, for a second call that ends in the same.
    pub fn again(&self) -> Self {
        match &self.0 {
            Ok(Reply::Short { len, text }) => Self(Ok(Reply::Short { len: *len, text: *text })),
            Ok(reply) => Self::written(|json| json.extend_from_slice(reply.result())),
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

    /// The response object to what no id is known of.
    pub(crate) fn into_response_without_id(self) -> Vec<u8> {
        let mut json = self.into_open_response();
        json.push(b'}');
        json
    }

    /// The response object up to its last member.
    fn into_open_response(self) -> Vec<u8> {
        match self.0 {
            Ok(Reply::Json(json)) => json,
            Ok(Reply::Short { len, text }) => {
                let mut json = Vec::with_capacity(CAPACITY);
                json.extend_from_slice(RESULT);
                json.extend_from_slice(&text[..usize::from(len)]);
                json
            }
            #[cfg(feature = "edn")]
            Ok(Reply::Edn(reply)) => reply.0,
            Err(error) => {
                let mut json = Vec::with_capacity(CAPACITY);
                json.extend_from_slice(ERROR);
                error.write_to(&mut json);
                json
            }
        }
    }

    /// -32004 for a member of a batch whose turn did not come in time.
    pub(crate) fn not_started(limit: Duration) -> Self {
        let reason = "the calls before it in the batch took too long; it was not run";
        let data = serde_json::json!({ "reason": reason, "timeout_ms": limit.as_millis() as u64 });
        Self::error(ErrorObject::new(code::TIMEOUT, "Call timed out").with_data(&data))
    }

    /// -32006 in place of a result that the replies to a body have no room for.
    pub fn reply_too_large(limit: usize) -> Self {
        let reason =
            "the replies to this body are over the limit: ask for less, or in smaller batches";
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
            #[cfg(feature = "edn")]
            Self::Edn(reply) => &reply.0[RESULT.len()..],
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
