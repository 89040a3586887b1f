//! The core of Trunkline: JSON-RPC 2.0 without a runtime and without HTTP.
//!
//! Applications use the crate `trunkline`, which re-exports the types they need. This crate is for crates that
//! add a transport, a protocol or a layer.
//!
//! ```text
//!  body ─► envelope ─► Call ─► Dispatcher ─► layers ─► Endpoint ─► Handler ─► Outcome ─► Reply
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`envelope`] | parsing and validation of message bodies |
//! | [`id`], [`unread_id`], [`error`], [`schema`], [`limits`] | ids, error objects, JSON Schemas, limits and the memory budget |
//! | [`trace_context`], [`spans`] | W3C Trace Context of calls, and spans with the names of OpenTelemetry |
//! | [`call`] | calls, their operations, and observers |
//! | [`params`], [`extract`] | arguments of handlers |
//! | [`operation`] | operations, handlers and the registry |
//! | [`outcome`], [`reply`], [`format`](mod@format) | outcomes, response objects, message formats and codecs |
//! | [`batch`], [`dispatch`] | execution of message bodies |

#![forbid(unsafe_code)]

pub mod batch;
pub mod call;
mod conversion;
pub mod dispatch;
pub mod envelope;
pub mod error;
pub mod extensions;
pub mod extract;
pub mod format;
pub mod id;
pub mod limits;
pub mod operation;
pub mod outcome;
pub mod params;
pub mod reply;
pub mod schema;
pub mod spans;
pub mod trace_context;
pub mod unread_id;
