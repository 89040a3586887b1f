//! Layers around calls: tower layers over `Service<Call, Response = Outcome>`.
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
//! Every built router has these around all of its methods, outermost first: a tracing span
//! ([`trace`]), counters ([`metrics`]), panics as -32603 ([`catch_panic`]), the call timeout
//! ([`timeout`]), the limit of concurrent calls ([`concurrency_limit`]). [`Defaults`] and
//! [`Limits`](crate::Limits) switch them off. Your own come inside of them, with [`Router::layer`](crate::Router::layer) and
//! [`Router::route_layer`](crate::Router::route_layer).

pub mod catch_panic;
pub mod concurrency_limit;
mod defaults;
mod from_fn;
pub mod handle_error;
pub mod metrics;
pub mod timeout;
pub mod trace;

pub use catch_panic::CatchPanicLayer;
pub use concurrency_limit::ConcurrencyLimitLayer;
pub use defaults::Defaults;
pub use from_fn::{FromFn, FromFnLayer, Next, from_fn};
pub use handle_error::HandleErrorLayer;
pub use metrics::MetricsLayer;
pub use timeout::TimeoutLayer;
pub use trace::TraceLayer;
