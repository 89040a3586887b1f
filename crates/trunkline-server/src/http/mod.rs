//! JSON-RPC over HTTP, and the routes of other endpoints next to it.
//!
//! A JSON-RPC reply is 200, errors included, except that a call which a layer has refused for who
//! made it has the status of that (see [`StatusPolicy`]); a body of notifications is 204, sent when
//! their handlers have finished. A refused request has the status that HTTP gives it, and a
//! JSON-RPC error object as its body:
//!
//! | status | when |
//! |---|---|
//! | 400 | malformed: Host missing or duplicate, Content-Type or Content-Length duplicate, broken chunks |
//! | 401 | a token is required, or this one is not accepted (`WWW-Authenticate`) |
//! | 403 | a Host or an Origin that is not listed |
//! | 404 | a path without a route that is not one of [`HttpConfig::paths`] |
//! | 405 | a method that is not in `Allow`: POST for calls |
//! | 408 | the body took too long; the connection is closed |
//! | 413 | the body is too large; the connection is closed |
//! | 415 | not JSON in UTF-8 (nor EDN, with the feature `edn`), or compressed |
//! | 417 | an `Expect` other than `100-continue` |
//! | 501 | a `Transfer-Encoding` other than `chunked`; the connection is closed |
//! | 503 | the [memory budget](trunkline_core::limits::MemoryBudget) is used up: nothing was run (-32005, with `Retry-After`), or the reply was dropped (-32006) |
//! | 503 | the keys of tokens cannot be fetched (`jwt`) |
//!
//! With the feature `edn`, calls are read as EDN if that is their `Content-Type`, and answered, and
//! refused, in the format that `Accept` prefers, or else in their own. The messages of [`Routes`] with
//! [more formats](Routes::formats) than JSON are, too.
//!
//! Pages of [`HttpConfig::cors_origins`] may read replies (CORS); then every OPTIONS request is answered as a
//! preflight.
//!
//! [`Server`](crate::Server) adds 503 (it is stopping; nothing was run), with such a body, and what
//! hyper refuses before the service sees it, with an *empty* body: 400 (a head or a length that cannot
//! be read), 414 (a target over 64 KiB) and 431 (a head over 128 KiB or 100 fields).

mod accept;
mod authority;
mod bearer;
mod body;
mod config;
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
mod refusal;
mod reply_body;
mod request_id;
mod respond;
mod response_headers;
mod routes;
mod service;
mod status;

pub(crate) use negotiate::unserved;

pub use crate::request::{Headers, Peer};
pub use accept::accepts_by_name;
pub use authority::Hosts;
pub use config::HttpConfig;
pub use event::Event;
pub use event_reader::{EventReader, EventTooLarge, MessageEvent};
pub use event_stream::EventStream;
pub use extract::{Context, Message};
pub use host::{Host, HostError};
pub use origin::{Origin, OriginError};
pub use reply_body::ReplyBody;
pub use respond::respond;
pub use response_headers::security_headers;
pub use routes::{ResponseFuture, Routes};
pub use service::HttpService;
pub use status::StatusPolicy;
