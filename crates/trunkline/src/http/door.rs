use std::pin::Pin;

use bytes::Bytes;
use http::{Method, Response, Uri};
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::{Extensions, JSON_RPC};
use trunkline_core::format::{Format, Formats};
use trunkline_core::reply::Reply;

use super::{ReplyBody, StatusPolicy};

/// Another protocol at paths of its own, behind the same guards as JSON-RPC: host, origin, bearer
/// token, and the limits of bodies. See [`HttpService::door`](super::HttpService::door).
pub trait Door: Send + Sync + 'static {
    /// The paths that are this door's, each with the methods that it answers.
    fn paths(&self) -> &[(&'static str, &'static [Method])];

    /// What the door is called in logs, metrics and history: `mcp`.
    fn name(&self) -> &'static str;

    /// What the messages of this door may be written in: a POST in another format is 415. Default: JSON.
    ///
    /// With [`Format::ALL`] it speaks EDN where calls do, by `Content-Type` and `Accept`; its messages
    /// are then [read](Format::read) and [written](Format::write) in the
    /// [formats](DoorRequest::formats) of each request.
    fn formats(&self) -> &'static [Format] {
        &[Format::Json]
    }

    /// What history and traces call the protocol of its requests, unless the door
    /// [says otherwise](Extensions::speaking) of one. Default: `jsonrpc`.
    fn protocol(&self) -> &'static str {
        JSON_RPC
    }

    /// Answers a request that was let in.
    fn answer(&self, request: DoorRequest) -> DoorFuture<'_>;

    /// The body of a refusal, as JSON: of what HTTP refuses at this door's paths. It is sent in the
    /// format of the reply.
    fn refusal(&self, error: ErrorObject) -> Vec<u8> {
        Reply::error(error, None).into_json().unwrap_or_default()
    }
}

/// The reply of a [`Door`], later.
pub type DoorFuture<'a> = Pin<Box<dyn Future<Output = Response<ReplyBody>> + Send + 'a>>;

/// A request that was let in, read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct DoorRequest {
    /// One of those that the door answers at this path.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// What calls of this request carry: headers, the peer, what middleware has set.
    pub extensions: Extensions,
    /// The body. Of a POST, it says to be in the format of the request, in UTF-8.
    pub body: Bytes,
    /// What the body is written in, which is JSON of anything but a POST, and what the reply shall be:
    /// each one of the door's [formats](Door::formats).
    pub formats: Formats,
    /// The status of JSON-RPC replies, as [settings](super::Settings::status_policy) have it.
    pub status_policy: StatusPolicy,
}
