//! Errors of text that is not JSON.

use std::fmt;

/// The reason why a text is not JSON, and the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// The reason.
    pub(crate) reason: ScanReason,
    /// Offset of the offending byte.
    pub(crate) offset: u32,
}

/// The reasons why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanReason {
    UnexpectedEnd,
    ExpectedValue,
    ExpectedMemberName,
    ExpectedColon,
    ExpectedCommaOrClose,
    InvalidNumber,
    InvalidLiteral,
    ControlCharacter,
    InvalidEscape,
    LoneSurrogate,
    TooDeep,
    TrailingText,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl fmt::Display for ScanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnexpectedEnd => "unexpected end of input",
            Self::ExpectedValue => "expected a JSON value",
            Self::ExpectedMemberName => "expected a member name in double quotes",
            Self::ExpectedColon => "expected ':' after a member name",
            Self::ExpectedCommaOrClose => "expected ',' or the end of the array or object",
            Self::InvalidNumber => "invalid number",
            Self::InvalidLiteral => "expected `true`, `false` or `null`",
            Self::ControlCharacter => "unescaped control character in a string",
            Self::InvalidEscape => "invalid escape sequence",
            Self::LoneSurrogate => "lone surrogate in a \\u escape",
            Self::TooDeep => "nested deeper than the limit",
            Self::TrailingText => "text after the end of the value",
        })
    }
}
