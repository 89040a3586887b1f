//! A validating JSON scanner (RFC 8259) that returns spans instead of values.
//!
//! The text must be UTF-8. The scanner checks the grammar, a depth limit, and that `\u` escapes contain no
//! lone surrogates, since an echoed lone surrogate would break the parser of the peer.

use super::fault::ScanError;
use super::grammar::{self, Kind, Scan};
use super::span::{Span, Text};

/// A cursor over a text.
#[derive(Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// The remaining nesting depth.
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `text`, which rejects values nested deeper than `max_depth`.
    pub fn new(text: &'a [u8], max_depth: usize) -> Self {
        Self { text, at: 0, depth: max_depth }
    }

    /// A scanner of a validated part of `text`.
    pub(crate) fn within(text: &'a [u8], part: Span) -> Self {
        Self { text, at: part.range().start, depth: usize::MAX }
    }

    /// The current offset.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.at = grammar::space(self.text, self.at);
        self.text.get(self.at).copied()
    }

    /// Fails unless only white space follows.
    pub fn finish(&self) -> Scan<()> {
        grammar::end(self.text, self.at)
    }

    /// Validates and skips one value.
    #[inline]
    pub fn value(&mut self) -> Scan<(Kind, Span)> {
        let start = grammar::space(self.text, self.at);
        let (kind, end) = grammar::kind_and_end(self.text, start, self.depth)?;
        self.at = end;
        Ok((kind, Span::new(start, end)))
    }

    /// Scans an object whose `{` is next. `member` must scan the value of each member.
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

    /// Scans an object whose `{` is next. `member` receives the index of the member's name in `names`, and must
    /// scan its value.
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

    /// Scans an array whose `[` is next. `element` must scan each element.
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
