//! The items of an array or object whose text was read before, one at a time.
//!
//! No error is expected; the iteration ends at one.

use super::grammar;
use super::{Span, Text};

/// An array's elements, front to back.
pub struct Elements<'de> {
    text: &'de [u8],
    /// The offset of the next element; none at the end.
    next: Option<usize>,
}

impl<'de> Elements<'de> {
    /// The elements of the array that `text` is, after white space.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, next: first(text, grammar::space(text, 0), b']') }
    }

    /// The next element's text.
    #[inline]
    pub(crate) fn next_value(&mut self) -> Option<&'de [u8]> {
        Some(self.next_span()?.of(self.text))
    }

    /// Where the next element is.
    #[inline]
    pub(crate) fn next_span(&mut self) -> Option<Span> {
        let start = self.next?;
        let end = grammar::value(self.text, start, usize::MAX).ok()?;
        self.next = following(self.text, end, b']');
        Some(Span::new(start, end))
    }

    /// How many elements are left. Reads them all.
    pub(crate) fn count(&mut self) -> usize {
        std::iter::from_fn(|| self.next_span()).count()
    }
}

/// An object's members, in the order in which they were written.
pub struct Members<'de> {
    text: &'de [u8],
    /// The offset of the next member; none at the end.
    next: Option<usize>,
}

impl<'de> Members<'de> {
    /// `text` starts with `{`.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, next: first(text, 0, b'}') }
    }

    /// The members of the object at `span`. Spans are those of the whole text.
    pub(crate) fn within(text: &'de [u8], span: Span) -> Self {
        Self { text, next: first(text, span.range().start, b'}') }
    }

    /// The next member: its name, and its value's text.
    #[inline]
    pub(crate) fn next_member(&mut self) -> Option<(Text, &'de [u8])> {
        let (name, value) = self.next_span()?;
        Some((name, value.of(self.text)))
    }

    /// The value of the next member, if its name is `name` and written without escapes. None if `name` needs escapes.
    #[inline]
    pub(crate) fn next_value_of(&mut self, name: &str) -> Option<&'de [u8]> {
        let start = self.next? + 1;
        let after = self.text.get(start..)?.strip_prefix(name.as_bytes())?.strip_prefix(b"\"")?;
        // The text of a string with escapes is not its value.
        if name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
            return None;
        }
        let value = self.value_after(self.text.len() - after.len())?;
        Some(value.of(self.text))
    }

    /// The next member: its name, and where its value is.
    #[inline]
    pub(crate) fn next_span(&mut self) -> Option<(Text, Span)> {
        let start = self.next?;
        let end = grammar::name(self.text, start).ok()?;
        let name = Text { span: Span::new(start, end.offset()), escaped: end.escaped };
        Some((name, self.value_after(end.offset())?))
    }

    /// The value of the member whose name ends at `name`.
    #[inline]
    fn value_after(&mut self, name: usize) -> Option<Span> {
        let value = grammar::space(self.text, grammar::colon(self.text, name).ok()?);
        let end = grammar::value(self.text, value, usize::MAX).ok()?;
        self.next = following(self.text, end, b'}');
        Some(Span::new(value, end))
    }
}

/// The offset of the first item of the array or object at `at`; none if it is empty.
#[inline]
fn first(text: &[u8], at: usize, close: u8) -> Option<usize> {
    let at = grammar::space(text, at + 1);
    (*text.get(at)? != close).then_some(at)
}

/// The offset of the item after the one that ends at `at`.
#[inline]
fn following(text: &[u8], at: usize, close: u8) -> Option<usize> {
    match grammar::separator(text, at, close) {
        Ok((true, next)) => Some(grammar::space(text, next)),
        _ => None,
    }
}
