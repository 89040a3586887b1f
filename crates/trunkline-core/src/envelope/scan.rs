//! A validating JSON scanner (RFC 8259) that records where things are instead of building values.
//!
//! It expects text that is already known to be UTF-8 and adds what UTF-8 does not say: the
//! grammar, a depth limit, and that `\u` escapes spell Unicode (no lone surrogate), since an
//! echoed lone surrogate would break the peer's parser.

use super::fault::{ScanError, ScanReason};
use super::plain::{plain, special};
use super::span::{Span, Text};

/// What kind of value was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A string.
    String {
        /// Whether it has escapes.
        escaped: bool,
    },
    /// An array.
    Array,
    /// An object.
    Object,
}

type Scan<T> = Result<T, ScanError>;

/// A cursor over a text.
#[derive(Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    max_depth: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the beginning of `bytes`, which refuses values that are nested deeper.
    pub fn new(bytes: &'a [u8], max_depth: usize) -> Self {
        Self { bytes, at: 0, depth: 0, max_depth }
    }

    /// A cursor at a value of a text whose depth was checked.
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, depth: 0, max_depth: usize::MAX }
    }

    /// The next byte after white space, not consumed.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => self.peek_after_space(),
        }
    }

    fn peek_after_space(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Only white space may follow.
    pub fn finish(&mut self) -> Scan<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail(ScanReason::TrailingText),
        }
    }

    /// Skips one value of any kind, validating all of it.
    pub fn value(&mut self) -> Scan<(Kind, Span)> {
        self.peek();
        let start = self.at;
        let kind = self.skip()?;
        Ok((kind, Span::new(start, self.at)))
    }

    fn skip(&mut self) -> Scan<Kind> {
        match self.peek() {
            Some(b'"') => self.string().map(|text| Kind::String { escaped: text.escaped }),
            Some(b'{') => self.object(|scanner, _| scanner.skip().map(drop)).map(|()| Kind::Object),
            Some(b'[') => self.array(|scanner| scanner.skip().map(drop)).map(|()| Kind::Array),
            Some(b't') => self.literal(b"true").map(|()| Kind::Bool),
            Some(b'f') => self.literal(b"false").map(|()| Kind::Bool),
            Some(b'n') => self.literal(b"null").map(|()| Kind::Null),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| Kind::Number),
            Some(_) => self.fail(ScanReason::ExpectedValue),
            None => self.fail(ScanReason::UnexpectedEnd),
        }
    }

    /// Scans an object whose `{` is next; `member` scans each member's value.
    pub fn object<E: From<ScanError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Text) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open()?;
        let mut more = self.peek() != Some(b'}');
        while more {
            if self.peek() != Some(b'"') {
                return Ok(self.fail_or_end(ScanReason::ExpectedMemberName)?);
            }
            let name = self.string()?;
            if self.peek() != Some(b':') {
                return Ok(self.fail_or_end(ScanReason::ExpectedColon)?);
            }
            self.at += 1;
            member(self, name)?;
            more = self.more(b'}')?;
        }
        self.close();
        Ok(())
    }

    /// Scans an array whose `[` is next; `element` scans each element.
    pub fn array<E: From<ScanError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open()?;
        let mut more = self.peek() != Some(b']');
        while more {
            element(self)?;
            more = self.more(b']')?;
        }
        self.close();
        Ok(())
    }

    /// Scans a string whose opening quote is next.
    #[inline]
    pub(crate) fn string(&mut self) -> Scan<Text> {
        // Member names, and most values of protocol members, end within eight bytes.
        let inside = self.at + 1;
        if let Some(word) = self.bytes.get(inside..).and_then(<[u8]>::first_chunk) {
            let end = inside + special(u64::from_le_bytes(*word)).trailing_zeros() as usize / 8;
            if self.bytes.get(end) == Some(&b'"') {
                let span = Span::new(self.at, end + 1);
                self.at = end + 1;
                return Ok(Text { span, escaped: false });
            }
        }
        self.any_string()
    }

    fn any_string(&mut self) -> Scan<Text> {
        let start = self.at;
        let mut escaped = false;
        self.at += 1;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text { span: Span::new(start, self.at), escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fail(ScanReason::ControlCharacter),
                None => return self.fail(ScanReason::UnexpectedEnd),
            }
        }
    }

    /// Moves past a `,` if one is next.
    pub(crate) fn comma(&mut self) -> bool {
        let found = self.peek() == Some(b',');
        self.at += usize::from(found);
        found
    }

    /// Moves past one byte that `peek` has shown.
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    fn open(&mut self) -> Scan<()> {
        self.depth += 1;
        if self.depth > self.max_depth {
            return self.fail(ScanReason::TooDeep);
        }
        self.at += 1;
        Ok(())
    }

    /// Whether a comma follows, which is consumed, and not the closing bracket, which is not.
    fn more(&mut self, close: u8) -> Scan<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => Ok(false),
            _ => self.fail_or_end(ScanReason::ExpectedCommaOrClose),
        }
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn escape(&mut self) -> Scan<()> {
        let start = self.at;
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => match self.code_unit()? {
                0xD800..=0xDBFF => {
                    let paired = self.bytes.get(self.at..self.at + 2) == Some(b"\\u")
                        && matches!(self.code_unit()?, 0xDC00..=0xDFFF);
                    if !paired {
                        return fail_at(start, ScanReason::LoneSurrogate);
                    }
                }
                0xDC00..=0xDFFF => return fail_at(start, ScanReason::LoneSurrogate),
                _ => {}
            },
            Some(_) => return self.fail(ScanReason::InvalidEscape),
            None => return fail_at(self.bytes.len(), ScanReason::UnexpectedEnd),
        }
        Ok(())
    }

    /// Reads the `\uXXXX` that is next.
    fn code_unit(&mut self) -> Scan<u16> {
        let mut unit = 0;
        for offset in self.at + 2..self.at + 6 {
            let digit = match self.bytes.get(offset) {
                Some(&byte) => char::from(byte).to_digit(16),
                None => return fail_at(self.bytes.len(), ScanReason::UnexpectedEnd),
            };
            let Some(digit) = digit else {
                return fail_at(offset, ScanReason::InvalidEscape);
            };
            unit = unit * 16 + digit;
        }
        self.at += 6;
        Ok(unit as u16)
    }

    fn literal(&mut self, word: &[u8]) -> Scan<()> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            self.fail(ScanReason::InvalidLiteral)
        }
    }

    fn number(&mut self) -> Scan<()> {
        self.at += usize::from(self.bytes[self.at] == b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail_or_end(ScanReason::InvalidNumber),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        match self.bytes.get(self.at) {
            // `042`, `1.2.3`, `1x`: the number goes on in a way that none can.
            Some(b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z') => {
                self.fail(ScanReason::InvalidNumber)
            }
            _ => Ok(()),
        }
    }

    fn some_digits(&mut self) -> Scan<()> {
        let start = self.at;
        self.digits();
        if self.at == start {
            return self.fail_or_end(ScanReason::InvalidNumber);
        }
        Ok(())
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn fail<T>(&self, reason: ScanReason) -> Scan<T> {
        fail_at(self.at, reason)
    }

    /// `reason`, or that the text is at its end.
    fn fail_or_end<T>(&self, reason: ScanReason) -> Scan<T> {
        if self.at >= self.bytes.len() {
            return self.fail(ScanReason::UnexpectedEnd);
        }
        self.fail(reason)
    }
}

fn fail_at<T>(offset: usize, reason: ScanReason) -> Scan<T> {
    Err(ScanError { reason, offset: offset as u32 })
}
