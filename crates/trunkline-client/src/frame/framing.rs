use trunkline_core::format::Format;

/// How messages are told apart on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Framing {
    /// A message is a line. Blank lines are none; in EDN, neither are those that hold commas or a
    /// comment only.
    #[default]
    Lines,
    /// A message has a head with its `Content-Length`, as in the Language Server Protocol's base
    /// protocol.
    Headers,
}

impl Framing {
    /// Whether what was read, which is not empty, is no message.
    #[cfg(feature = "edn")]
    pub fn is_blank(self, text: &[u8], format: Format) -> bool {
        if (self, format) != (Self::Lines, Format::Edn) {
            return false;
        }
        let is_space = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        match text.iter().position(|byte| !is_space(byte)) {
            // A carriage return ends a comment, too.
            Some(start) => text[start] == b';' && !text[start..].contains(&b'\r'),
            None => true,
        }
    }

    /// Whether what was read, which is not empty, is no message.
    #[cfg(not(feature = "edn"))]
    pub fn is_blank(self, _text: &[u8], _format: Format) -> bool {
        false
    }
}
