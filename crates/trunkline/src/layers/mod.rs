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
//! | layer | purpose | added by |
//! |---|---|---|
//! | [`trace`] | opens a span in the distributed trace of the caller | default |
//! | [`metrics`] | counts calls and measures their durations; `GET /metrics` | default, without the endpoint |
//! | [`catch_panic`] | replies to a panic with -32603 | default |
//! | [`rate_limit`] | limits the rate of calls per caller | [`Router::rate_limit`](crate::Router::rate_limit) |
//! | [`authorize`] | refuses callers without permission | [`Router::authorize`](crate::Router::authorize) |
//! | [`timeout`] | sets a deadline for each call | default |
//! | [`concurrency_limit`] | limits the calls that run at the same time | default |
//! | [`audit`] (feature `audit`) | logs calls that change data, before and after they run | [`Router::audit`](crate::Router::audit) |
//! | [`validation`] (feature `validation`) | checks params against JSON Schemas | [`Router::layer`](crate::Router::layer) |
//! | [`handle_error`] | converts errors of layers into replies | around each layer |
//! | [`from_fn()`] | runs an async function | [`Router::layer`](crate::Router::layer) |
//!
//! The layers up to `concurrency_limit` have fixed places, outermost first in the order of the table. They wrap all
//! methods of a built router, and unknown methods; [`Defaults`] and [`Limits`](crate::Limits) switch off those that are on
//! by default. The other layers are inside of them, in the order in which they are added to the router: with
//! [`Router::layer`](crate::Router::layer), which also takes tower's layers, alone and in one
//! [`ServiceBuilder`](tower::ServiceBuilder), or for some methods with
//! [`Router::route_layer`](crate::Router::route_layer). All of them except `authorize`, `audit`, `handle_error` and
//! `validation` also wrap [clients](crate::client::Client::layer).

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

pub use catch_panic::CatchPanicLayer;
pub use concurrency_limit::ConcurrencyLimitLayer;

pub use default_layers::Defaults;
pub(crate) use default_layers::{AroundUnknown, DefaultLayers};
pub use from_fn::{FromFnLayer, Next, from_fn};
pub use handle_error::HandleErrorLayer;
pub(crate) use handle_error::layer_fn;
pub use layered::{CallLayer, CallService, Layered};
pub use metrics::MetricsLayer;
pub use rate_limit::RateLimitLayer;
pub use timeout::TimeoutLayer;
pub use trace::TraceLayer;
#[cfg(feature = "validation")]
pub use validation::ValidateLayer;
