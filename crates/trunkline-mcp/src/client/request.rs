use bytes::Bytes;
use http::HeaderMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::message::request;

/// A request to send.
#[derive(Debug)]
pub(super) struct Outgoing<'r> {
    pub(super) id: i64,
    pub(super) method: &'static str,
    pub(super) body: Bytes,
    /// The name or URI that HTTP headers repeat.
    pub(super) name: Option<&'r str>,
    /// The headers that repeat arguments.
    pub(super) headers: HeaderMap,
    /// Whether the result arrives at any time.
    pub(super) is_open_ended: bool,
}

impl Outgoing<'_> {
    pub(super) fn new(id: i64, method: &'static str, params: &impl Serialize) -> Self {
        let (name, headers) = (None, HeaderMap::new());
        Self { id, method, body: request(id, method, params), name, headers, is_open_ended: false }
    }
}

/// The result of a method.
#[derive(Debug)]
pub(super) struct Answer {
    /// As received.
    pub(super) result: Box<RawValue>,
    pub(super) headers: HeaderMap,
}
