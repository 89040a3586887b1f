//! The core of Trunkline: JSON-RPC 2.0 without a runtime and without HTTP.
//!
//! Applications use the crate `trunkline`, which re-exports what they need of this one. This crate is for
//! crates that add a transport, a protocol or a layer.
//!
//! ```text
//!  body ─► envelope ─► Call ─► Dispatcher ─► layers ─► Endpoint ─► Handler ─► Outcome ─► Reply
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | [`envelope`] | the scanner: which parts of a body are requests, and which are not valid |
//! | [`id`], [`error`], [`schema`], [`limits`] | ids, error objects, JSON Schemas, limits and the memory budget |
//! | [`trace_context`] | W3C Trace Context, an extension of calls |
//! | [`call`] | a call, its extensions, its operation, and observers of calls |
//! | [`params`], [`extract`] | the arguments of handlers |
//! | [`operation`] | operations, handlers, and the registry that finds them by name |
//! | [`outcome`], [`reply`], [`format`](mod@format) | results and errors, response objects, and the formats of messages |
//! | [`batch`], [`dispatch`] | from the bytes of a body to the bytes of its reply |

#![forbid(unsafe_code)]

pub mod batch;
pub mod call;
pub mod dispatch;
#[cfg(feature = "edn")]
pub mod edn;
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
pub mod trace_context;
