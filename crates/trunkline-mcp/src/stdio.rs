//! Newline-delimited messages on a pair of byte streams ("stdio").

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use tokio_util::sync::CancellationToken;

use trunkline::stdio;
use trunkline::stream::{Message, StreamConfig, StreamError};

use crate::channel::Channel;
use crate::server::Mcp;

impl Mcp {
    /// Serves one client by lines, until its input ends and what it asked for is answered: what
    /// `stdin` and `stdout` are for in a process that a client starts.
    ///
    /// When `closing` is cancelled, no more lines are taken, and what was asked for is still answered.
    /// Reading and writing block, so each has a thread. The one that reads stays until there is a line or
    /// the input's end.
    ///
    /// # Errors
    /// When reading or writing fails, or calls do not end within
    /// [`McpConfig::drain_timeout`](crate::McpConfig).
    pub async fn serve_stdio(
        &self,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        closing: CancellationToken,
    ) -> Result<(), StreamError> {
        let (channel, outbox) = Channel::new(Arc::clone(&self.0));
        // One by one: tools that change often are reported once to a client that does not read.
        let messages = unfold(outbox, |mut outbox| async move {
            let message = outbox.next().await?;
            Some((vec![Message::json(message.json, message.memory)], outbox))
        });
        let config = StreamConfig {
            message_bytes: self.0.settings.line_bytes,
            // A host may be suspended at any time.
            message_timeout: Duration::MAX,
            write_timeout: Duration::MAX,
            drain_timeout: self.0.settings.drain_timeout,
            closing,
            ..Default::default()
        };
        stdio::serve_pipes(channel, messages, (input, output), config).await
    }
}
