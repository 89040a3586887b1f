/// The framing of messages on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Framing {
    /// One message per line. Blank lines are ignored; in EDN, so are lines that contain only commas or a comment.
    #[default]
    Lines,
    /// Each message has a header part with its `Content-Length`, as in the base protocol of the Language
    /// Server Protocol.
    Headers,
}
