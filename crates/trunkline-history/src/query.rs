//! A filter as the query of a URL.

use std::time::SystemTime;

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_core::id::Id;

use super::entry::Status;
use super::filter::Filter;
use super::time;

/// Why the query of a URL is no [`Filter`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no such parameter.
    #[error("unknown parameter {0:?}; known are {names}", names = PARAMETERS.join(", "))]
    Unknown(String),
    /// A parameter stands twice.
    #[error("{0} stands twice")]
    Twice(&'static str),
    /// The value is none that the parameter may have.
    #[error("{name} is {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
    },
    /// Percent signs and two hexadecimal digits have to make UTF-8.
    #[error("it is not percent-encoded UTF-8")]
    Encoding,
}

const PARAMETERS: [&str; 11] = [
    "method",
    "id",
    "status",
    "code",
    "door",
    "principal",
    "trace_id",
    "since",
    "until",
    "before",
    "limit",
];

impl Filter {
    /// The filter that the query of a URL asks for, each parameter by the name of the field:
    /// `method=db.*&status=error`.
    ///
    /// `status` is `result`, `error` or `cancelled`; `since` and `until` are times as RFC 3339 has them.
    /// An `id` is JSON as the client has sent it, so that `1` and `"1"` differ; what is no JSON is a
    /// string: `abc`. What an empty query leaves out is as in the [default](Filter::default).
    ///
    /// # Errors
    /// For what it does not know, what stands twice, and values that cannot be.
    pub fn from_query(query: &str) -> Result<Self, QueryError> {
        let mut filter = Self::default();
        let mut seen = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            let known = PARAMETERS.into_iter().find(|known| *known == name);
            let name = known.ok_or(QueryError::Unknown(name))?;
            filter.set(name, value)?;
            if seen.contains(&name) {
                return Err(QueryError::Twice(name));
            }
            seen.push(name);
        }
        Ok(filter)
    }

    /// Sets a parameter.
    fn set(&mut self, name: &'static str, value: String) -> Result<(), QueryError> {
        match name {
            "method" => self.method = Some(value),
            "id" => self.id = Some(id(&value)),
            "status" => self.status = Some(status(&value)?),
            "code" => self.code = Some(number(name, &value)?),
            "door" => self.door = Some(value),
            "principal" => self.principal = Some(value),
            "trace_id" => self.trace_id = Some(value.to_ascii_lowercase()),
            "since" => self.since = Some(moment(name, &value)?),
            "until" => self.until = Some(moment(name, &value)?),
            "before" => self.before = Some(number(name, &value)?),
            "limit" => self.limit = number(name, &value)?,
            _ => return Err(QueryError::Unknown(name.to_owned())),
        }
        Ok(())
    }
}

/// Scalars are ids; all else is the text of one.
fn id(text: &str) -> Id {
    let is_scalar = !text.starts_with(['[', '{', 't', 'f']);
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if is_scalar => Id::from_raw(Bytes::copy_from_slice(raw.get().as_bytes())),
        _ => Id::from(text),
    }
}

fn status(text: &str) -> Result<Status, QueryError> {
    match text {
        "result" => Ok(Status::Result),
        "error" => Ok(Status::Error),
        "cancelled" => Ok(Status::Cancelled),
        _ => Err(QueryError::Value { name: "status", expected: "result, error or cancelled" }),
    }
}

fn number<N: std::str::FromStr>(name: &'static str, text: &str) -> Result<N, QueryError> {
    text.parse().map_err(|_| QueryError::Value { name, expected: "a whole number" })
}

fn moment(name: &'static str, text: &str) -> Result<SystemTime, QueryError> {
    let expected = "a time like 2026-07-28T09:30:00Z";
    time::parse(text).ok_or(QueryError::Value { name, expected })
}

/// A part of a query, percent-decoded. A `+` stays one: times have them.
pub fn decoded(text: &str) -> Result<String, QueryError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let (high, low) = high.zip(low).ok_or(QueryError::Encoding)?;
                u8::try_from(high << 4 | low).map_err(|_| QueryError::Encoding)?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| QueryError::Encoding)
}
