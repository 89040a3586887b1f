//! A server for one client over a byte stream, such as a pipe, a socket or a TLS connection.
//!
//! ```
//! # use trunkline::{Params, Router, client::{Channel, Client}, stream};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rpc = Router::new().method("add", |Params((a, b)): Params<(i64, i64)>| a + b).build()?;
//! let (ours, theirs) = tokio::io::duplex(4096);
//! let serving = tokio::spawn(async move {
//!     stream::serve(&rpc, theirs, stream::StreamConfig::default()).await
//! });
//! let client = Client::new(Channel::new(ours));
//! assert_eq!(client.call::<i64>("add", [40, 2]).await?, 42);
//! drop(client);
//! serving.await??;
//! # Ok(())
//! # }
//! ```
//!
//! Calls run concurrently, and replies are sent in the order in which calls end. The notification
//! `$/cancelRequest` with the params `{"id": …}` cancels a running call, whose reply is then
//! [`CANCELLED`](trunkline_core::error::code::CANCELLED). A batch is cancelled when all of its ids are cancelled.
//! Ids are compared in JSON: with EDN, `:a`, `a` and `"a"` are the same id.

mod calls;
mod config;
mod json_rpc;
mod request;
mod slots;
mod transport;

use tokio::io::{AsyncRead, AsyncWrite};
use trunkline_core::dispatch::Dispatcher;

pub use calls::{Calls, Registration};
pub use config::StreamConfig;
pub use request::Message;
pub use transport::{Protocol, Refused, StreamError};
pub use trunkline_client::frame::{Framing, Key};

pub(crate) use json_rpc::Connection;
pub(crate) use request::Unanswered;
pub(crate) use transport::{serve as serve_protocol, write};

/// Serves one client until its stream ends and all requests are answered.
///
/// # Errors
/// When reading or writing fails, or calls do not end within [`StreamConfig::drain_timeout`].
///
/// # Cancel safety
/// Dropping the future cancels running calls. [`StreamConfig::closing`] ends it gracefully.
pub async fn serve(
    rpc: &Dispatcher,
    stream: impl AsyncRead + AsyncWrite + Send,
    config: StreamConfig,
) -> Result<(), StreamError> {
    let (input, output) = tokio::io::split(stream);
    Connection::standalone(rpc, "stream").run(input, output, &config).await
}
