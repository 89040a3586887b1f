//! Layers: tower layers around calls, over `Service<Call, Response = Outcome>`, and around HTTP requests.
//!
//! A call layer runs once for each call, so once for each member of a batch; an HTTP layer runs
//! once for each request, whatever it carries:
//!
//! ```text
//!  HTTP request ─► HTTP layers ─► body ─► decode ─┬─► call ─► call layers ─► handler
//!                  (once)                         ├─► call ─► call layers ─► handler
//!                                                 └─► call ─► call layers ─► handler
//! ```
//!
//! | call layer | does | on by default |
//! |---|---|---|
//! | [`trace`] | opens a span, which is part of a distributed trace | yes |
//! | [`metrics`] | counts calls and their time; `GET /metrics` | yes, without the path |
//! | [`catch_panic`] | answers a panic with -32603 | yes |
//! | [`timeout`] | gives calls a deadline | yes |
//! | [`concurrency_limit`] | lets so many calls run at a time | yes |
//! | [`authorize`] | refuses who may not call | no |
//! | [`rate_limit`] | refuses who calls too often | no |
//! | [`validation`] (feature `validation`) | checks params against JSON Schemas | no |
//! | [`handle_error`] | says what errors of layers are answered with | around each layer |
//! | [`from_fn()`] | does what your function does | no |
//!
//! | HTTP layer | does |
//! |---|---|
//! | [`security_headers`] | tells browsers to be careful with responses |
//! | [`request_id`] | gives each request an id, for logs on both sides |
//!
//! Those that are on by default stand around all methods of a built router, outermost first in the
//! order of the table; [`Defaults`] and [`Limits`](crate::Limits) switch them off. All other call layers
//! come inside of them, with [`Router::layer`](crate::Router::layer) and
//! [`Router::route_layer`](crate::Router::route_layer); [`Rules`](authorize::Rules) with
//! [`Router::authorize`](crate::Router::authorize). Around a [client](crate::client::Client::layer) fit all
//! call layers but `handle_error`.
//! HTTP layers wrap a [`HttpService`](crate::http::HttpService), an axum router, or any other service of
//! HTTP requests.

pub mod authorize;
pub mod catch_panic;
pub mod concurrency_limit;
mod default_stack;
mod defaults;
mod from_fn;
pub mod handle_error;
pub mod metrics;
pub mod rate_limit;
mod refusable;
pub mod request_id;
pub mod security_headers;
pub mod timeout;
pub mod trace;
#[cfg(feature = "validation")]
pub mod validation;

pub use authorize::AuthorizeLayer;
pub use catch_panic::CatchPanicLayer;
pub use concurrency_limit::ConcurrencyLimitLayer;

pub(crate) use default_stack::DefaultStack;
pub use defaults::Defaults;
pub use from_fn::{FromFn, FromFnLayer, Next, from_fn};
pub use handle_error::HandleErrorLayer;
pub(crate) use handle_error::layered;
pub use metrics::MetricsLayer;
pub use rate_limit::RateLimitLayer;
pub use refusable::RefusableFuture;
pub use request_id::RequestIdLayer;
pub use security_headers::SecurityHeadersLayer;
pub use timeout::TimeoutLayer;
pub use trace::TraceLayer;
#[cfg(feature = "validation")]
pub use validation::ValidateLayer;
