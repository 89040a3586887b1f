//! Iterators over the items of an array or object in validated text.
//!
//! Since the text is valid, no error is expected; iteration stops at an error.

use super::grammar;
use super::{Span, Text};

/// The elements of an array, in order.
pub struct Elements<'de> {
    text: &'de [u8],
    /// The offset of the next element. `None` at the end.
    next: Option<usize>,
}

impl<'de> Elements<'de> {
    /// Iterates over the array in `text`, after leading white space.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, next: first(text, grammar::space(text, 0), b']') }
    }

    /// The next element's text.
    #[inline]
    pub(crate) fn next_value(&mut self) -> Option<&'de [u8]> {
        Some(self.next_span()?.of(self.text))
    }

    /// The span of the next element.
    #[inline]
    pub(crate) fn next_span(&mut self) -> Option<Span> {
        let start = self.next?;
        let end = grammar::value(self.text, start, usize::MAX).ok()?;
        self.next = following(self.text, end, b']');
        Some(Span::new(start, end))
    }

    /// The number of remaining elements. Consumes them.
    pub(crate) fn count(&mut self) -> usize {
        std::iter::from_fn(|| self.next_span()).count()
    }
}

/// The members of an object, in the order of the text.
pub struct Members<'de> {
    text: &'de [u8],
    /// The offset of the next member. `None` at the end.
    next: Option<usize>,
}

impl<'de> Members<'de> {
    /// Iterates over the object in `text`, which starts with `{`.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, next: first(text, 0, b'}') }
    }

    /// Iterates over the object at `span`. The returned spans refer to the whole text.
    pub(crate) fn within(text: &'de [u8], span: Span) -> Self {
        Self { text, next: first(text, span.range().start, b'}') }
    }

    /// The name of the next member, and the text of its value.
    #[inline]
    pub(crate) fn next_member(&mut self) -> Option<(Text, &'de [u8])> {
        let (name, value) = self.next_span()?;
        Some((name, value.of(self.text)))
    }

    /// The value of the next member if its name is `name`, without escapes. `None` if `name` requires escapes.
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

    /// The name of the next member, and the span of its value.
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

/// The offset of the first item of the array or object at `at`. `None` if it is empty.
#[inline]
pub(super) fn first(text: &[u8], at: usize, close: u8) -> Option<usize> {
    let at = grammar::space(text, at + 1);
    (*text.get(at)? != close).then_some(at)
}

/// The offset of the item after the one that ends at `at`.
#[inline]
pub(super) fn following(text: &[u8], at: usize, close: u8) -> Option<usize> {
    match grammar::separator(text, at, close) {
        Ok((true, next)) => Some(grammar::space(text, next)),
        _ => None,
    }
}
