//! Byte ranges of a text.

use std::borrow::Cow;
use std::ops::Range;

/// A half-open byte range of a text of less than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The byte range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The part of `text` in this range. `text` must be the scanned text.
    pub fn of(self, text: &[u8]) -> &[u8] {
        &text[self.range()]
    }
}

/// The span of a string literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// The span, including the quotes.
    pub span: Span,
    /// Whether it contains a backslash. Without one, the bytes between the quotes are the value.
    pub escaped: bool,
}

impl Text {
    /// The bytes between the quotes.
    pub(crate) fn inner<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let Range { start, end } = self.span.range();
        &text[start + 1..end - 1]
    }

    /// Whether the value of this string is `expected`, after resolving escapes.
    #[inline]
    pub fn is(&self, text: &[u8], expected: &str) -> bool {
        if self.escaped {
            self.unescape(text) == expected
        } else {
            self.inner(text) == expected.as_bytes()
        }
    }

    /// The value of the string. `text` must be valid UTF-8.
    pub fn value<'a>(&self, text: &'a [u8]) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(self.unescape(text));
        }
        let value = std::str::from_utf8(self.inner(text));
        Cow::Borrowed(value.expect("the body is valid UTF-8"))
    }

    /// The value of the string, with escapes resolved.
    pub(crate) fn unescape(&self, text: &[u8]) -> String {
        serde_json::from_slice(self.span.of(text)).expect("the scanner accepted this string")
    }
}
