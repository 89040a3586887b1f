//! Tower layers around calls (`Service<Call, Response = Outcome>`).
//!
//! A call layer runs once for each call, so once for each member of a batch. Layers around an
//! [`HttpService`](crate::http::HttpService), which are those of any HTTP service, run once for each request:
//!
//! ```text
//!  HTTP request ─► HTTP layers ─► body ─► decode ─┬─► call ─► call layers ─► handler
//!                  (once)                         ├─► call ─► call layers ─► handler
//!                                                 └─► call ─► call layers ─► handler
//! ```
//!
//! | layer | purpose | on by default |
//! |---|---|---|
//! | [`trace`] | opens a span in the distributed trace of the caller | yes |
//! | [`metrics`] | counts calls and measures their durations; `GET /metrics` | yes, without the endpoint |
//! | [`catch_panic`] | replies to a panic with -32603 | yes |
//! | [`timeout`] | sets a deadline for each call | yes |
//! | [`concurrency_limit`] | limits the calls that run at the same time | yes |
//! | [`authorize`] | refuses callers without permission | no |
//! | [`audit`] (feature `audit`) | logs calls that change data, before and after they run | no |
//! | [`rate_limit`] | limits the rate of calls per caller | no |
//! | [`validation`] (feature `validation`) | checks params against JSON Schemas | no |
//! | [`handle_error`] | converts errors of layers into replies | around each layer |
//! | [`from_fn()`] | runs an async function | no |
//!
//! The layers that are on by default wrap all methods of a built router, outermost first in the order of
//! the table; [`Defaults`] and [`Limits`](crate::Limits) switch them off. All other layers are inside
//! of them: add them with [`Router::layer`](crate::Router::layer),
//! [`Router::route_layer`](crate::Router::route_layer), and [`Rules`](authorize::Rules) with
//! [`Router::authorize`](crate::Router::authorize). They compose with tower's layers in one
//! [`ServiceBuilder`](tower::ServiceBuilder). All of them except `audit`, `handle_error` and `validation` also wrap
//! [clients](crate::client::Client::layer).

pub mod audit;
pub mod authorize;
mod call_database;
pub mod catch_panic;
pub mod concurrency_limit;
mod default_layers;
mod from_fn;
pub mod handle_error;
mod layered;
pub mod metrics;
pub mod rate_limit;
pub(crate) mod read_params;
pub mod timeout;
pub mod trace;
#[cfg(feature = "validation")]
pub mod validation;

#[cfg(feature = "audit")]
pub use audit::AuditLayer;
pub use authorize::AuthorizeLayer;
pub use catch_panic::CatchPanicLayer;
pub use concurrency_limit::ConcurrencyLimitLayer;

pub(crate) use default_layers::DefaultLayers;
pub use default_layers::Defaults;
pub use from_fn::{FromFn, FromFnLayer, Next, from_fn};
pub use handle_error::HandleErrorLayer;
pub(crate) use handle_error::layered;
pub use layered::{CallLayer, CallService, Layered};
pub use metrics::MetricsLayer;
pub use rate_limit::RateLimitLayer;
pub use timeout::TimeoutLayer;
pub use trace::TraceLayer;
#[cfg(feature = "validation")]
pub use validation::ValidateLayer;
