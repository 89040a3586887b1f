//! What has been asked and answered: a bounded record of all calls.
//!
//! A [`History`] is given to a service with `Rpc::recorded`, and from then on
//! each call makes an [`Entry`] when it ends: through whatever door it came, with a result, an error,
//! or cancelled. So does what is no call: a body that cannot be read, an invalid member of a batch, a
//! method that does not exist, a request that HTTP refuses (401, 403, 413, …).
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
//! Entries are in the order in which they ended. Texts are copies and bounded, so that a history holds on to
//! no body and never outgrows its [`HistoryConfig`]. They are [redacted](Redaction) when they are read: by a
//! page, a subscriber or the log. Until then the memory of the process has them unchanged. A service
//! without a history pays one look at an empty field.
//!
//! Other protocols are recorded as they are spoken: MCP's `tools/call` is an entry of that method with
//! the request and the response that its client saw, and [`Entry::operation`] names the operation
//! that was run for it. There is no second entry for that.
//!
//! `trunkline` serves the record over HTTP, and a [`Log`] keeps it in files.

#![forbid(unsafe_code)]

mod draft;
mod entry;
mod filter;
mod history;
pub mod log;
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
pub use query::{QueryError, decoded};
pub use redaction::{Redacted, Redaction};
pub use ring::Update;
pub use stream::{Counted, StreamRecording};
pub use subscription::Subscription;
pub use text::Text;
pub use trunkline_core::call::Recording;
