//! Places in a text.

use std::borrow::Cow;
use std::ops::Range;

/// A half-open byte range of the scanned text. Texts are shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Its part of the text that it was read from.
    pub fn of(self, text: &[u8]) -> &[u8] {
        &text[self.range()]
    }
}

/// A string's range, quotes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// Where its characters stand, quotes included.
    pub span: Span,
    /// Whether a backslash stands in it: without one, the bytes between the quotes are its value.
    pub escaped: bool,
}

impl Text {
    /// The bytes between the quotes.
    pub(crate) fn inner<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let Range { start, end } = self.span.range();
        &text[start + 1..end - 1]
    }

    /// Whether this string's value is `expected`, however it is spelled.
    #[inline]
    pub fn is(&self, text: &[u8], expected: &str) -> bool {
        if self.escaped {
            self.unescape(text) == expected
        } else {
            self.inner(text) == expected.as_bytes()
        }
    }

    /// The string's value. `text` was checked to be UTF-8.
    pub fn value<'a>(&self, text: &'a [u8]) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(self.unescape(text));
        }
        let value = std::str::from_utf8(self.inner(text));
        Cow::Borrowed(value.expect("a body was checked to be UTF-8"))
    }

    /// The string's value, escapes resolved.
    pub(crate) fn unescape(&self, text: &[u8]) -> String {
        serde_json::from_slice(self.span.of(text)).expect("the scanner accepted this string")
    }
}
