//! Serving one client over a stream of bytes: a pipe, a socket, the end of a TLS connection.
//!
//! ```
//! # use trunkline::{Router, client::{Channel, Client}, stream};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rpc = Router::new().function("add", ["a", "b"], |a: i64, b: i64| a + b).build()?;
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
//! Calls run side by side, and are answered in the order in which they end. The notification
//! `$/cancelRequest` with the params `{"id": …}` cancels a call that runs, which is then answered
//! with [`CANCELLED`](trunkline_core::error::code::CANCELLED); a batch is cancelled when all of its ids are.
//! Ids are what they are in JSON: a client that speaks EDN cancels `:a`, `a` and `"a"` together.

mod calls;
mod config;
mod json_rpc;
mod places;
mod request;
mod transport;

use tokio::io::{AsyncRead, AsyncWrite};
use trunkline_core::dispatch::Dispatcher;

pub use calls::{Calls, Registration};
pub use config::StreamConfig;
pub use request::Message;
pub use transport::{Protocol, StreamError};
pub use trunkline_client::frame::{Framing, Key};

pub(crate) use json_rpc::Connection;
pub(crate) use request::Unanswered;
pub(crate) use transport::{serve as serve_protocol, write};

/// Serves one client until its stream ends and what it has asked for is answered.
///
/// # Errors
/// When reading or writing fails, or calls do not end within [`StreamConfig::drain_timeout`].
///
/// # Cancel safety
/// Dropping the future cancels the calls that run. [`StreamConfig::closing`] ends it in order.
pub async fn serve(
    rpc: &Dispatcher,
    stream: impl AsyncRead + AsyncWrite + Send,
    config: StreamConfig,
) -> Result<(), StreamError> {
    let (input, output) = tokio::io::split(stream);
    Connection::alone(rpc, "stream").run(input, output, &config).await
}
