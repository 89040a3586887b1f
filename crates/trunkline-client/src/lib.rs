//! A typed and untyped JSON-RPC client over any transport.
//!
//! ```
//! # use trunkline::{Params, Router, client::Client};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let rpc = Router::new().method("add", |Params((a, b)): Params<(i64, i64)>| a + b).build()?;
//! let client = Client::new(rpc); // or Http::connect("http://127.0.0.1:8080")?
//! let sum: i64 = client.call("add", [40, 2]).await?;
//! assert_eq!(sum, 42);
//!
//! let mut batch = client.batch();
//! let first = batch.add(client.call::<i64>("add", [1, 2]));
//! let second = batch.add(client.call::<i64>("add", (3, 4)));
//! let mut replies = batch.send().await?;
//! assert_eq!(replies.take(second)? - replies.take(first)?, 4);
//! # Ok(())
//! # }
//! ```
//!
//! A call returns exactly one of: its result; an error of the method; a [protocol error](ProtocolError),
//! such as a malformed or missing reply; a [transport error](TransportError). Every call has a
//! [timeout](ClientConfig::timeout). Dropping the future of a call cancels it.

#![forbid(unsafe_code)]

mod batch;
mod batch_queue;
pub mod channel;
#[cfg(unix)]
pub mod child;
mod client;
mod error;
pub mod frame;
pub mod http;
pub mod media_type;
mod pending;
mod remote;
mod response;
mod retry;
mod transport;
#[cfg(unix)]
mod unix;
mod wire;

pub use batch::{Batch, Replies, Slot};
pub use channel::stream::Channel;
#[cfg(unix)]
pub use child::process::Child;
pub use client::{Client, ClientConfig};
pub use error::{Cause, Error, Failure, ProtocolError, TransportError};
pub use http::connection::Http;
pub use pending::{Notification, Pending};
pub use remote::Remote;
pub use response::Response;
pub use retry::Retry;
pub use transport::{Message, Transport, TransportFuture};
#[cfg(unix)]
pub use unix::Unix;

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
