//! The history of calls: a bounded record in memory, with redaction of secrets, filters and log files.
//!
//! A [`History`] is given to a service with `Rpc::with_history`, and from then on
//! each call adds an [`Entry`] when it ends, over any endpoint: with a result, with an error, or cancelled.
//! Messages that are not valid calls add entries too: an unreadable body, an invalid member of a batch, an
//! unknown method, a request that HTTP refuses (401, 403, 413, …).
//!
//! ```
//! use trunkline::history::{Filter, History, HistoryConfig};
//! use trunkline::{Extensions, Router};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let history = History::new(HistoryConfig::default());
//! let rpc = Router::new().method("login", || "welcome").build()?.with_history(history.clone());
//!
//! let body = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"hunter2"},"id":1}"#;
//! rpc.handle(body.into(), Extensions::from_endpoint("json-rpc")).await;
//!
//! let newest = &history.entries(&Filter::default()).entries[0];
//! let request = newest.request.as_ref().expect("a call has a request").redacted();
//! let expected = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"[redacted]"},"id":1}"#;
//! assert_eq!(&*request.text, expected);
//! # Ok(())
//! # }
//! ```
//!
//! Entries are ordered by the end of their calls. Texts are bounded copies, so a history never exceeds its
//! [`HistoryConfig`]. They are [redacted](Redaction) when they are read by a page, a subscriber or the log;
//! until then, the memory of the process contains them unchanged. Without a history, a service only checks
//! an empty field.
//!
//! Calls of other protocols are recorded in their own form: an MCP `tools/call` is one entry of that method
//! with the request and the response of the MCP client, and [`Entry::operation`] names the operation.
//!
//! `trunkline` serves the history over HTTP, and a [`Log`] writes it to files.

#![forbid(unsafe_code)]

pub mod audit;
mod draft;
mod entry;
mod filter;
mod history;
pub mod log;
pub mod private_file;
mod query;
mod queue;
mod recording;
mod redaction;
mod ring;
mod stats;
mod stream;
mod subscription;
mod text;
mod time;

pub use entry::{Entry, Kind, Status};
pub use filter::{Filter, Page};
pub use history::{History, HistoryConfig};
pub use log::Log;
pub use query::{QueryError, percent_decode};
pub use redaction::{Redacted, Redaction};
pub use ring::Update;
pub use stream::{RecordedBody, StreamRecording};
pub use subscription::Subscription;
pub use text::Text;

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
