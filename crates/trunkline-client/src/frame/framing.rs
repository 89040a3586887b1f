use trunkline_core::format::Format;

/// The framing of messages on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Framing {
    /// One message per line. Blank lines are ignored; in EDN, so are lines that contain only commas or a
    /// comment.
    #[default]
    Lines,
    /// Each message has a header part with its `Content-Length`, as in the base protocol of the Language
    /// Server Protocol.
    Headers,
}

impl Framing {
    /// Whether a non-empty line contains no message.
    #[cfg(feature = "edn")]
    pub fn is_blank(self, text: &[u8], format: Format) -> bool {
        if (self, format) != (Self::Lines, Format::Edn) {
            return false;
        }
        let is_space = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        match text.iter().position(|byte| !is_space(byte)) {
            // A carriage return also ends a comment.
            Some(start) => text[start] == b';' && !text[start..].contains(&b'\r'),
            None => true,
        }
    }

    /// Whether a non-empty line contains no message.
    #[cfg(not(feature = "edn"))]
    pub fn is_blank(self, _text: &[u8], _format: Format) -> bool {
        false
    }
}
