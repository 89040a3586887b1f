//! The properties of an endpoint that determine its refusals.

use std::fmt;

use http::Response;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::{Extensions, JSON_RPC};
use trunkline_core::format::Format;
use trunkline_core::id::Id;
use trunkline_core::reply::Reply;

use super::refusal::Refusal;
use super::reply_body::ReplyBody;

/// The name and protocol of an endpoint, and the format of its refusals.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    /// The name in logs, metrics and history.
    pub(super) name: &'static str,
    /// The protocol of its requests.
    pub(super) protocol: &'static str,
    /// The formats of its requests and replies.
    pub(super) formats: &'static [Format],
    /// Whether it has routes, whose replies may be streams, and are compressed for clients that accept it.
    pub(super) has_routes: bool,
    /// The body of a refusal, as JSON.
    pub(super) refusal: fn(ErrorObject) -> Vec<u8>,
}

impl Endpoint {
    /// The JSON-RPC endpoint, in JSON. Its refusals have the id `null`.
    pub(super) const CALLS: Self = Self {
        name: "json-rpc",
        protocol: JSON_RPC,
        formats: &[Format::Json],
        has_routes: false,
        refusal: |error| Reply::error(error, Some(&Id::NULL)).into_json().unwrap_or_default(),
    };

    /// The response to a refused request. It is JSON if the body has no other representation.
    pub(super) fn refuse(&self, refusal: &Refusal, format: Format) -> Response<ReplyBody> {
        let json = || (self.refusal)(refusal.error());
        match format.write(json()) {
            Ok(body) => refusal.response(body, format),
            Err(_) => refusal.response(json(), Format::Json),
        }
    }

    /// The extensions of a request without further information.
    pub(super) fn extensions(&self) -> Extensions {
        Extensions::from_endpoint(self.name).with_protocol(self.protocol)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, protocol, formats, .. } = self;
        let mut shown = f.debug_struct("Endpoint");
        shown.field("name", name).field("protocol", protocol).field("formats", formats);
        shown.finish_non_exhaustive()
    }
}
