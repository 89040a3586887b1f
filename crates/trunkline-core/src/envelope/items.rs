//! The top level of a params text: its elements or its members, one at a time.

use super::{Scanner, Span, Text};

/// An array's elements, front to back.
///
/// The envelope has validated the text, so what remains to go wrong is nothing; should it go
/// wrong all the same, the iteration ends.
pub struct Elements<'de> {
    text: &'de [u8],
    scanner: Scanner<'de>,
    first: bool,
}

impl<'de> Elements<'de> {
    /// `text` starts with `[`.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, scanner: after_opening(text), first: true }
    }

    /// The next element's text.
    pub(crate) fn next_value(&mut self) -> Option<&'de [u8]> {
        if !separated(&mut self.scanner, &mut self.first, b']') {
            return None;
        }
        let (_, span) = self.scanner.value().ok()?;
        Some(span.of(self.text))
    }

    /// How many elements are left. Reads them all.
    pub(crate) fn count(&mut self) -> usize {
        std::iter::from_fn(|| self.next_value()).count()
    }
}

/// An object's members, in the order in which they were written.
pub struct Members<'de> {
    text: &'de [u8],
    scanner: Scanner<'de>,
    first: bool,
}

impl<'de> Members<'de> {
    /// `text` starts with `{`.
    pub(crate) fn new(text: &'de [u8]) -> Self {
        Self { text, scanner: after_opening(text), first: true }
    }

    /// The members of the object at `span`. Spans are those of the whole text.
    pub(crate) fn within(text: &'de [u8], span: Span) -> Self {
        let mut scanner = Scanner::starting_at(text, span.range().start);
        scanner.advance();
        Self { text, scanner, first: true }
    }

    /// The next member: its name, and its value's text.
    pub(crate) fn next_member(&mut self) -> Option<(Text, &'de [u8])> {
        let (name, value) = self.next_span()?;
        Some((name, value.of(self.text)))
    }

    /// The next member: its name, and where its value is.
    pub(crate) fn next_span(&mut self) -> Option<(Text, Span)> {
        if !separated(&mut self.scanner, &mut self.first, b'}') {
            return None;
        }
        self.scanner.peek()?;
        let name = self.scanner.name().ok()?;
        self.scanner.peek()?;
        self.scanner.advance();
        let (_, span) = self.scanner.value().ok()?;
        Some((name, span))
    }
}

fn after_opening(text: &[u8]) -> Scanner<'_> {
    let mut scanner = Scanner::starting_at(text, 0);
    scanner.advance();
    scanner
}

/// Moves to the next item; false at the end.
fn separated(scanner: &mut Scanner<'_>, first: &mut bool, close: u8) -> bool {
    let more = match scanner.peek() {
        None => false,
        Some(byte) if byte == close => false,
        Some(_) => *first || scanner.comma(),
    };
    *first = false;
    more
}
