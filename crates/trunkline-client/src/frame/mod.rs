//! Framing of messages on a byte stream: by lines, or with a `Content-Length` header.

mod framing;
mod header;
mod key;
mod reader;
mod writer;

pub use framing::Framing;
pub use key::Key;
pub use reader::{Frame, FrameReader, ReadError, Reason, Skipped};
pub use writer::FrameWriter;
