//! The error object (JSON-RPC 2.0, section 5.1).

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::code;

/// The error of a failed call: a code, a message, and optional data.
///
/// `data` is absent or any JSON value, including `null`.
#[derive(Clone)]
pub struct ErrorObject {
    code: i64,
    message: Cow<'static, str>,
    data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self { code, message, data: None }
    }

    /// Sets `data`. If the value does not serialise, this is logged and `data` remains unset.
    #[must_use]
    pub fn with_data(mut self, data: &(impl Serialize + ?Sized)) -> Self {
        match to_raw_value(data) {
            Ok(data) => self.data = Some(data),
            Err(error) => {
                tracing::error!(%error, code = self.code, "failed to serialise error data");
            }
        }
        self
    }

    /// -32601 for an unknown `method`.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, "Method not found").with_data(&Method { method })
    }

    /// -32602 with the reason as `data.reason`.
    #[must_use]
    pub fn invalid_params(reason: &str) -> Self {
        Self::new(code::INVALID_PARAMS, "Invalid params").with_data(&Reason { reason })
    }

    /// -32603 without the cause.
    ///
    /// The cause is logged together with an incident number, which the client gets as `data.incident`, so that the
    /// operator can find the log entry.
    #[must_use]
    pub fn internal(cause: &dyn fmt::Display) -> Self {
        let incident = format!("{:016x}", RandomState::new().hash_one(0_u8));
        tracing::error!(%cause, incident, "internal error");
        Self::new(code::INTERNAL_ERROR, "Internal error").with_data(&Incident { incident })
    }

    /// Like [`internal`](Self::internal), but logs the error with all its sources.
    #[must_use]
    pub fn internal_error(cause: &(dyn Error + 'static)) -> Self {
        Self::internal(&Chain(cause))
    }

    /// The code. -32768 to -32100 are reserved for the protocol, and Trunkline uses -32014 to -32000; see
    /// [`code`](crate::error::code).
    #[must_use]
    pub fn code(&self) -> i64 {
        self.code
    }

    /// Whether the same call may succeed soon. See [`code::is_temporary`].
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        code::is_temporary(self.code)
    }

    /// The message, one short sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The data, as JSON text.
    #[must_use]
    pub fn data(&self) -> Option<&RawValue> {
        self.data.as_deref()
    }

    /// The value of `data.reason`, if it is a string.
    fn reason(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Data {
            reason: String,
        }
        let data: Data = serde_json::from_str(self.data()?.get()).ok()?;
        Some(data.reason)
    }

    /// Appends the object as JSON.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"code\":");
        serde_json::to_writer(&mut *out, &self.code).expect("a number serialises into memory");
        out.extend_from_slice(b",\"message\":");
        serde_json::to_writer(&mut *out, &self.message).expect("text serialises into memory");
        if let Some(data) = &self.data {
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(data.get().as_bytes());
        }
        out.push(b'}');
    }
}

#[derive(Serialize)]
struct Reason<'a> {
    reason: &'a str,
}

#[derive(Serialize)]
struct Method<'a> {
    method: &'a str,
}

#[derive(Serialize)]
struct Incident {
    incident: String,
}

/// An error with its sources, outermost first.
struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl PartialEq for ErrorObject {
    fn eq(&self, other: &Self) -> bool {
        let text = |error: &Self| error.data().map(|data| data.get().to_owned());
        self.code == other.code && self.message == other.message && text(self) == text(other)
    }
}

/// Displays the message, the code and `data.reason`.
impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)?;
        self.reason().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut json = Vec::new();
        self.write_to(&mut json);
        write!(f, "ErrorObject({})", String::from_utf8_lossy(&json))
    }
}

impl Error for ErrorObject {}
