//! What is wrong with a text that is not JSON.

use std::fmt;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// What is wrong.
    pub(crate) reason: ScanReason,
    /// Offset of the offending byte.
    pub(crate) offset: u32,
}

/// The ways in which a text fails to be JSON.
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
            Self::UnexpectedEnd => "the text ends inside a value",
            Self::ExpectedValue => "expected a JSON value",
            Self::ExpectedMemberName => "expected a member name in double quotes",
            Self::ExpectedColon => "expected ':' after a member name",
            Self::ExpectedCommaOrClose => "expected ',' or the end of the array or object",
            Self::InvalidNumber => "not a JSON number",
            Self::InvalidLiteral => "expected true, false or null",
            Self::ControlCharacter => "a control character in a string must be escaped",
            Self::InvalidEscape => "not a JSON escape sequence",
            Self::LoneSurrogate => "a \\u escape is half of a surrogate pair",
            Self::TooDeep => "nested deeper than the limit",
            Self::TrailingText => "text after the end of the value",
        })
    }
}
