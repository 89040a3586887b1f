//! Messages on a stream of bytes: by lines, or with a `Content-Length`.

mod framing;
mod head;
mod key;
mod reader;
mod writer;

pub use framing::Framing;
pub use key::Key;
pub use reader::{Frame, FrameReader, ReadError};
pub use writer::FrameWriter;
