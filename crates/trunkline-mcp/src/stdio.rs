//! Newline-delimited messages on a pair of byte streams ("stdio").

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use tokio_util::sync::CancellationToken;

use trunkline::limits::MemoryBudget;
use trunkline::stream::{Message, Protocol, StreamConfig, StreamError};
use trunkline::{ErrorObject, Extensions, Format, stdio};

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

impl Protocol for Channel {
    async fn take(&mut self, message: Result<Bytes, ErrorObject>, _: Format) {
        match message {
            Ok(body) => Channel::take(self, body, Extensions::through("mcp-stdio")).await,
            Err(error) => self.refuse(error).await,
        }
    }

    async fn finish(self) {
        Channel::finish(&self).await;
    }

    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        Channel::unanswered(self)
    }

    fn memory(&self) -> &MemoryBudget {
        Channel::memory(self)
    }
}
