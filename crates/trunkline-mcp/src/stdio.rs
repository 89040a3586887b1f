//! Newline-delimited messages on a pair of byte streams ("stdio").

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::unfold;
use tokio_util::sync::CancellationToken;

use trunkline::stdio;
use trunkline::stream::{Message, StreamConfig, StreamError};

use crate::channel::Channel;
use crate::server::Mcp;

impl Mcp {
    /// Serves one client by lines, as a process that the client starts does on `stdin` and `stdout`. Returns when the
    /// input has ended and all requests are answered.
    ///
    /// When `closing` is cancelled, no further lines are read, and pending requests are answered. Reading and writing
    /// block, so each has a thread. The reading thread remains until the next line or the end of the input.
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
        self.serve_pipes((Box::new(input), Box::new(output)), closing).await
    }

    /// This is neither async nor generic, so that the server is compiled in this crate. The code of an async function is
    /// compiled in each program that awaits it.
    #[inline(never)]
    fn serve_pipes(
        &self,
        pipes: (Box<dyn Read + Send>, Box<dyn Write + Send>),
        closing: CancellationToken,
    ) -> BoxFuture<'static, Result<(), StreamError>> {
        let (channel, outbox) = Channel::new(Arc::clone(&self.0));
        // Not in groups, so that many changes of tools lead to one notification to a client that does not read.
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
        stdio::serve_pipes(channel, messages, pipes, config).boxed()
    }
}
