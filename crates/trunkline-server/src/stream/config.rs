use std::time::Duration;

use tokio_util::sync::CancellationToken;
use trunkline_core::format::Format;

use trunkline_client::frame::Framing;

/// Configuration of a stream that is served: [`serve`](super::serve), [`stdio`](crate::stdio),
/// [`unix`](crate::unix).
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// How messages are told apart. Default: each is a line.
    pub framing: Framing,
    /// What messages and their replies are written in. Default: JSON. With [`Framing::Headers`], a
    /// message whose `Content-Type` names another format is read, and answered, in that one:
    /// `application/edn`, or for JSON `application/json`, `application/json-rpc`,
    /// `application/jsonrequest` and, as language servers have it, `application/vscode-jsonrpc`. Any
    /// other type names none. Replies that are not in JSON, or to a stream that is not, have a
    /// `Content-Type`, too. With
    /// [`Framing::Lines`], strings of EDN are sent with `\n` in place of line breaks.
    pub format: Format,
    /// How many bytes a message may have. Default 1 MiB. What a larger one has more is read and
    /// forgotten, and it is answered with -32600.
    pub message_bytes: usize,
    /// How many calls of one client may run, or wait for it to read their replies. Default 128. As many
    /// again are read and wait for a place, as long as they have no more than `message_bytes` together;
    /// so calls that are behind each other can still be cancelled. What comes behind those is not read
    /// before one has a place. A batch counts as one.
    pub in_flight: usize,
    /// How long calls wait when no place becomes free. Default 10 s. Then those that wait are answered
    /// with -32005, and so are those that come, until there is one: whatever hangs, its cancel is read
    /// in the end.
    pub place_timeout: Duration,
    /// How long a message may take to come, once it has begun. Default 30 s. Then the stream is at its
    /// end, for where the next message begins cannot be told.
    pub message_timeout: Duration,
    /// How long a client that waits for no reply may take to send its next message. Default: for ever;
    /// on unix sockets, 10 minutes.
    pub idle_timeout: Option<Duration>,
    /// How long a client may take no byte of a reply. Default 30 s.
    pub write_timeout: Duration,
    /// How long the calls that run may go on when the client has ended its stream, or the stream is
    /// closed. Default 30 s. Then they are cut off.
    pub drain_timeout: Duration,
    /// When it is cancelled, no further messages are read, and what was asked for is still answered.
    /// Default: never.
    pub closing: CancellationToken,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            format: Format::default(),
            message_bytes: 1 << 20,
            in_flight: 128,
            place_timeout: Duration::from_secs(10),
            message_timeout: Duration::from_secs(30),
            idle_timeout: None,
            write_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            closing: CancellationToken::new(),
        }
    }
}
