use std::time::Duration;

use tokio_util::sync::CancellationToken;
use trunkline_core::format::Format;

use trunkline_client::frame::Framing;

/// Configuration of a served stream: [`serve`](super::serve), [`stdio`](crate::stdio), [`unix`](crate::unix).
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// The framing of messages. Default: one message per line.
    pub framing: Framing,
    /// The format of messages and replies. Default: JSON.
    ///
    /// With [`Framing::Headers`], the `Content-Type` of a message selects another format for the message and
    /// its reply: `application/edn`, or for JSON `application/json`, `application/json-rpc`,
    /// `application/jsonrequest` and `application/vscode-jsonrpc` (Language Server Protocol). Other types are
    /// ignored. Replies have a `Content-Type` unless both the reply and the stream are in JSON. With
    /// [`Framing::Lines`], strings in EDN are sent with `\n` in place of line breaks.
    pub format: Format,
    /// The maximum size of a message, in bytes. Default 1 MiB. A larger message is skipped and answered with
    /// -32600.
    pub message_bytes: usize,
    /// The maximum number of calls of a client that run or wait for the client to read their replies. Default
    /// 128. The same number of further calls is read and queued, up to `message_bytes` in total, so that queued
    /// calls can be cancelled. After that, no further messages are read until a call ends. A batch counts as
    /// one call.
    pub in_flight: usize,
    /// The maximum time in which none of the queued calls starts. Default 10 s. After that, queued and new calls
    /// are refused with -32005 until a running call ends. This ensures that cancellations are read even if all
    /// running calls hang.
    pub queue_timeout: Duration,
    /// The maximum time for a message to arrive, from its first byte. Default 30 s. After that, the stream is
    /// closed, because the start of the next message is unknown.
    pub message_timeout: Duration,
    /// The maximum time between messages of a client that waits for no reply. Default: no limit; 10 minutes for
    /// unix sockets.
    pub idle_timeout: Option<Duration>,
    /// The maximum time without progress in sending a reply. Default 30 s.
    pub write_timeout: Duration,
    /// The maximum time for running calls to finish after the client has closed its stream or the server stops.
    /// Default 30 s. After that, they are aborted.
    pub drain_timeout: Duration,
    /// Stops the stream when cancelled: no further messages are read, and pending requests are answered. Default:
    /// never.
    pub closing: CancellationToken,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            format: Format::default(),
            message_bytes: 1 << 20,
            in_flight: 128,
            queue_timeout: Duration::from_secs(10),
            message_timeout: Duration::from_secs(30),
            idle_timeout: None,
            write_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            closing: CancellationToken::new(),
        }
    }
}
