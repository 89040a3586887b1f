//! Filters as query strings of URLs.

use std::time::SystemTime;

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_core::id::Id;

use super::entry::Status;
use super::filter::Filter;
use super::time;

/// The error for a query string that is not a valid [`Filter`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The parameter is unknown.
    #[error("unknown parameter {0:?}; expected one of {names}", names = PARAMETERS.join(", "))]
    Unknown(String),
    /// A parameter occurs twice.
    #[error("duplicate parameter `{0}`")]
    Duplicate(&'static str),
    /// The value of a parameter is invalid.
    #[error("invalid `{name}`; expected {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// The text is not percent-encoded UTF-8.
    #[error("query string is not percent-encoded UTF-8")]
    Encoding,
}

const PARAMETERS: [&str; 12] = [
    "method",
    "id",
    "status",
    "code",
    "endpoint",
    "principal",
    "issuer",
    "trace_id",
    "since",
    "until",
    "before",
    "limit",
];

impl Filter {
    /// Parses the query string of a URL, with one parameter per field: `method=db.*&status=error`.
    ///
    /// `status` is `result`, `error` or `cancelled`; `since` and `until` are RFC 3339 times; `endpoint` is the
    /// endpoint. `id` is the JSON text sent by the client, so that `1` and `"1"` differ; text that is not
    /// JSON, such as `abc`, is a string. Missing parameters have their [default](Filter::default).
    ///
    /// # Errors
    /// For unknown parameters, duplicate parameters and invalid values.
    pub fn from_query(query: &str) -> Result<Self, QueryError> {
        let mut filter = Self::default();
        let mut seen = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (percent_decode(name)?, percent_decode(value)?);
            let known = PARAMETERS.into_iter().find(|known| *known == name);
            let name = known.ok_or(QueryError::Unknown(name))?;
            filter.set(name, value)?;
            if seen.contains(&name) {
                return Err(QueryError::Duplicate(name));
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
            "endpoint" => self.endpoint = Some(value),
            "principal" => self.principal = Some(value),
            "issuer" => self.issuer = Some(value),
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

/// Parses an id. Text that is not a JSON scalar is a string.
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
    text.parse().map_err(|_| QueryError::Value { name, expected: "an integer" })
}

fn moment(name: &'static str, text: &str) -> Result<SystemTime, QueryError> {
    let expected = "a time such as 2026-07-28T09:30:00Z";
    time::parse(text).ok_or(QueryError::Value { name, expected })
}

/// Decodes a percent-encoded part of a query string. A `+` is not decoded, since times contain it.
///
/// # Errors
/// When the text is not percent-encoded UTF-8.
pub fn percent_decode(text: &str) -> Result<String, QueryError> {
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
