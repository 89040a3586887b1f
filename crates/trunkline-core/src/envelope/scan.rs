//! A validating JSON scanner (RFC 8259) that records where things are instead of building values.
//!
//! It expects text that is already known to be UTF-8 and adds what UTF-8 does not say: the
//! grammar, a depth limit, and that `\u` escapes spell Unicode (no lone surrogate), since an
//! echoed lone surrogate would break the peer's parser.

use super::fault::ScanError;
use super::grammar::{self, Kind, Scan};
use super::span::{Span, Text};

/// A cursor over a text.
#[derive(Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// The number of arrays and objects that may still be nested.
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the beginning of `text`, which refuses values that nest deeper than `max_depth`.
    pub fn new(text: &'a [u8], max_depth: usize) -> Self {
        Self { text, at: 0, depth: max_depth }
    }

    /// A scanner of a part of `text` that was validated before.
    pub(crate) fn within(text: &'a [u8], part: Span) -> Self {
        Self { text, at: part.range().start, depth: usize::MAX }
    }

    /// The offset of what is scanned next.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next byte after white space, not consumed.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.at = grammar::space(self.text, self.at);
        self.text.get(self.at).copied()
    }

    /// Only white space may follow.
    pub fn finish(&self) -> Scan<()> {
        grammar::end(self.text, self.at)
    }

    /// Skips one value of any kind, validating all of it.
    #[inline]
    pub fn value(&mut self) -> Scan<(Kind, Span)> {
        let start = grammar::space(self.text, self.at);
        let (kind, end) = grammar::kind_and_end(self.text, start, self.depth)?;
        self.at = end;
        Ok((kind, Span::new(start, end)))
    }

    /// Scans an object whose `{` is next; `member` scans each member's value.
    #[inline]
    pub fn object<E: From<ScanError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Text) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open()?;
        let mut more = self.peek() != Some(b'}');
        self.at += usize::from(!more);
        while more {
            self.peek();
            let end = grammar::name(self.text, self.at)?;
            let name = Text { span: Span::new(self.at, end.offset()), escaped: end.escaped };
            self.at = grammar::colon(self.text, end.offset())?;
            member(self, name)?;
            (more, self.at) = grammar::separator(self.text, self.at, b'}')?;
        }
        self.depth += 1;
        Ok(())
    }

    /// Scans an object whose `{` is next; `member` scans each member's value, and gets the index of its name among
    /// `names`.
    #[inline]
    pub fn named_members<'n, E: From<ScanError>>(
        &mut self,
        names: impl Iterator<Item = &'n str> + Clone,
        mut member: impl FnMut(&mut Self, Option<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let text = self.text;
        self.object(|scanner, name| {
            let index = names.clone().position(|known| name.is(text, known));
            member(scanner, index)
        })
    }

    /// Scans an array whose `[` is next; `element` scans each element.
    #[inline]
    pub fn array<E: From<ScanError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open()?;
        let mut more = self.peek() != Some(b']');
        self.at += usize::from(!more);
        while more {
            element(self)?;
            (more, self.at) = grammar::separator(self.text, self.at, b']')?;
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn open(&mut self) -> Scan<()> {
        self.depth = grammar::nested(self.at, self.depth)?;
        self.at += 1;
        Ok(())
    }
}
