//! Replies of endpoints: results, errors, and members whose types many servers confuse.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::{OAuthError, is_refusal, printable};
use super::fetch::Document;
use super::scopes::Scopes;

/// The result in a reply to a request, or its error (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
pub(super) fn read<T: DeserializeOwned>(
    request: &'static str,
    reply: &Document,
) -> Result<T, OAuthError> {
    let status = reply.status;
    let refusal = || refusal(request, &reply.body);
    if status.is_success() {
        let found = serde_json::from_slice(&reply.body);
        // Some servers return errors with status 200.
        return found.map_err(|error| refusal().unwrap_or_else(|| malformed(reply, &error)));
    }
    let refusal = is_refusal(status).then(refusal).flatten();
    Err(refusal.unwrap_or_else(|| reply.status_error()))
}

/// The error has a position only: its message could contain a part of the reply.
fn malformed(reply: &Document, error: &serde_json::Error) -> OAuthError {
    let reason = format!("unexpected JSON at column {}", error.column());
    OAuthError::Malformed { url: reply.url.clone(), reason }
}

fn refusal(request: &'static str, body: &[u8]) -> Option<OAuthError> {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
        #[serde(default, deserialize_with = "text")]
        error_description: Option<String>,
    }
    let Refusal { error, error_description } = serde_json::from_slice(body).ok()?;
    let description = error_description.as_deref().map(printable);
    Some(OAuthError::Refused { request, error: printable(&error), description })
}

/// A number of seconds, also as a string or with a fraction. Other values, such as -1, are unknown: a reply with a new
/// refresh token must not be lost because of them.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let found = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| whole(text.parse().ok()?))
        }
        _ => None,
    };
    Ok(found)
}

fn whole(seconds: f64) -> Option<u64> {
    Duration::try_from_secs_f64(seconds).ok().map(|duration| duration.as_secs())
}

/// A string that is not empty. Other values count as missing.
pub(super) fn text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let found = match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() => Some(T::from(text)),
        _ => None,
    };
    Ok(found)
}

/// Scopes in a string or in a list. Other values are the empty set.
pub(super) fn scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scopes, D::Error> {
    let found = match Value::deserialize(deserializer)? {
        Value::String(text) => Scopes::from(text),
        Value::Array(list) => Scopes::new(list.iter().filter_map(Value::as_str)),
        _ => Scopes::default(),
    };
    Ok(found)
}
