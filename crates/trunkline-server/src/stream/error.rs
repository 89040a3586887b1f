use std::io;

/// Why serving a stream ended otherwise than with the stream, and with all calls answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input cannot be read.
    #[error("the input cannot be read")]
    Read(#[source] io::Error),
    /// The output takes nothing: the client is gone, or does not read.
    #[error("the output cannot be written")]
    Write(#[source] io::Error),
    /// The input cannot be told apart into messages any more. The client has been told.
    #[error("the input is no messages: {reason}")]
    Framing {
        /// What is wrong.
        reason: String,
    },
    /// Calls had not ended, or nobody had read their replies, when their time was up.
    #[error("{calls} calls were cut off: they did not end in time")]
    Unfinished {
        /// How many.
        calls: usize,
    },
    /// The system gave no thread.
    #[error("no thread for reading and writing")]
    Thread(#[source] io::Error),
}
