/// How messages are told apart on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Framing {
    /// A message is a line. Blank lines are none.
    #[default]
    Lines,
    /// A message has a head with its `Content-Length`, as in the Language Server Protocol's base
    /// protocol.
    Headers,
}
