//! The ids of requests, for correlating logs of client and server.

use http::HeaderValue;
use http::header::{Entry, HeaderMap, HeaderName};
use trunkline_core::trace_context::TraceContext;

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of an id sent by a client. Ids are written to logs.
const MAX_LENGTH: usize = 128;

/// Returns the id of a request and sets it in its headers.
pub(super) fn set(headers: &mut HeaderMap) -> Option<HeaderValue> {
    match headers.entry(X_REQUEST_ID) {
        Entry::Occupied(sent) if sent.iter().count() == 1 && is_safe(sent.get()) => {
            Some(sent.get().clone())
        }
        Entry::Occupied(mut sent) => {
            let id = random()?;
            sent.insert(id.clone());
            Some(id)
        }
        Entry::Vacant(absent) => Some(absent.insert(random()?).clone()),
    }
}

/// Whether an id can safely be written to logs.
fn is_safe(id: &HeaderValue) -> bool {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(byte);
    (1..=MAX_LENGTH).contains(&id.len()) && id.as_bytes().iter().all(is_safe)
}

fn random() -> Option<HeaderValue> {
    HeaderValue::from_bytes(&TraceContext::root().trace_id().digits()).ok()
}
