//! JSON-RPC over HTTP, and routes of other endpoints.
//!
//! A JSON-RPC reply has the status 200, also for errors, except for calls refused because of the caller (see
//! [`StatusPolicy`]). Notifications return 204 when their handlers have finished. A refused request has the
//! appropriate HTTP status, and a JSON-RPC error object as its body:
//!
//! | status | when |
//! |---|---|
//! | 400 | malformed: Host missing or duplicate, Content-Type or Content-Length duplicate, broken chunks |
//! | 401 | the credentials are missing or not accepted (`WWW-Authenticate`, which refers to the metadata of a [protected resource](HttpConfig::protected_resource)) |
//! | 403 | the Host or Origin is not listed |
//! | 404 | the path has no route and is not one of [`HttpConfig::paths`] |
//! | 405 | the method is not in `Allow`: POST for calls |
//! | 408 | the body did not arrive in time; the connection is closed |
//! | 413 | the body is too large; the connection is closed |
//! | 415 | not JSON in UTF-8 (or EDN, with the feature `edn`), or compressed |
//! | 417 | an `Expect` other than `100-continue` |
//! | 501 | a `Transfer-Encoding` other than `chunked`; the connection is closed |
//! | 503 | the [memory budget](trunkline_core::limits::MemoryBudget) is exhausted: nothing was run (-32005, with `Retry-After`), or the reply was dropped (-32006) |
//! | 503 | the keys for tokens cannot be fetched (`jwt`) |
//!
//! With the feature `edn`, calls with the `Content-Type` of EDN are parsed as EDN. Replies and refusals have the
//! format that `Accept` prefers, or else that of the request. The same holds for messages of [`Routes`] with
//! [several formats](Routes::formats).
//!
//! If [`HttpConfig::cors_origins`] is set, pages of these origins may read replies (CORS), and every OPTIONS
//! request is treated as a preflight.
//!
//! [`Server`](crate::Server) also returns 503, with an error object, while it is stopping (nothing was run).
//! hyper refuses some requests with an *empty* body: 400 (unreadable headers or length), 414 (target over
//! 64 KiB) and 431 (headers over 128 KiB or 100 fields).

mod accept;
mod authenticate;
mod authority;
mod bearer;
mod body;
mod client_certificate;
#[cfg(feature = "compression")]
mod coding;
mod config;
mod credentials;
mod endpoint;
mod event;
mod event_reader;
mod event_stream;
mod extract;
mod fields;
mod guard;
mod host;
mod negotiate;
mod origin;
mod protected_resource;
mod refusal;
mod refusal_log;
mod reply_body;
mod request_id;
mod respond;
mod response_headers;
mod routes;
mod service;
mod status;
mod validity;

/// Replies are never compressed.
#[cfg(not(feature = "compression"))]
mod coding {
    use http::{HeaderMap, Response};

    use super::ReplyBody;

    #[derive(Clone, Copy)]
    pub(super) struct Coding;

    impl Coding {
        pub(super) fn accepted(_: &HeaderMap) -> Self {
            Self
        }

        pub(super) fn apply(self, response: Response<ReplyBody>) -> Response<ReplyBody> {
            response
        }
    }
}

pub(crate) use negotiate::refused as refused_format;

pub use crate::request::{Headers, Peer};
pub use accept::accepts_by_name;
pub use authenticate::{Authentication, AuthenticationError, Authenticator};
pub use authority::Hosts;
pub use client_certificate::{ClientCertificate, ClientCertificates};
pub use config::HttpConfig;
pub use event::Event;
pub use event_reader::{EventReader, EventTooLarge, MessageEvent};
pub use event_stream::EventStream;
pub use extract::{Context, Message, Payload};
pub use host::{Host, HostError};
pub use origin::{Origin, OriginError, is_own_origin};
pub use reply_body::ReplyBody;
pub use respond::respond;
pub use response_headers::security_headers;
pub use routes::{ResponseFuture, Routes};
pub use service::HttpService;
pub use status::StatusPolicy;
