//! A scanner of text, and the strings of EDN and JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::error::{Error, Reason, quoted};
use crate::location::Position;
use crate::syntax::{CLASSES, MACRO, is_space};

/// The rules of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Edn,
    Json,
}

/// A text and an offset in it.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    pub(crate) text: &'a str,
    /// The offset of the next byte.
    pub(crate) at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(crate) fn is_at(&self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Consumes the next character of the form `within`.
    pub(crate) fn next_char(&mut self, within: &'static str) -> Result<char, Error> {
        let c = self.rest().chars().next().ok_or_else(|| self.unexpected_end(within))?;
        self.at += c.len_utf8();
        Ok(c)
    }

    #[cold]
    pub(crate) fn error(&self, reason: Reason, offset: usize) -> Error {
        Error::from(reason).at(Position::of(self.text, offset))
    }

    #[cold]
    pub(crate) fn unexpected_end(&self, within: &'static str) -> Error {
        self.error(Reason::UnexpectedEnd { within }, self.text.len())
    }

    /// Reads a string at its opening quote. The result is borrowed if the string has no escape sequences.
    pub(crate) fn string(&mut self, notation: Notation) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let plain = self.plain(notation)?;
        if self.is_at(b'"') {
            self.at += 1;
            return Ok(plain.into());
        }
        // The minimum length, up to the next quote.
        let more = memchr::memchr(b'"', self.rest().as_bytes()).unwrap_or(0);
        let mut string = String::with_capacity(plain.len() + more);
        string.push_str(plain);
        while !self.is_at(b'"') {
            string.push(self.escape(notation)?);
            string.push_str(self.plain(notation)?);
        }
        self.at += 1;
        Ok(string.into())
    }

    /// Reads up to the next quote or escape sequence.
    #[inline]
    fn plain(&mut self, notation: Notation) -> Result<&'a str, Error> {
        let rest = self.rest();
        let end = memchr::memchr2(b'"', b'\\', rest.as_bytes());
        let plain = &rest[..end.ok_or_else(|| self.unexpected_end("a string"))?];
        if notation == Notation::Json
            && let Some(at) = plain.bytes().position(|byte| byte < 0x20)
        {
            let reason = Reason::Json { what: "unescaped control character in a string" };
            return Err(self.error(reason, self.at + at));
        }
        self.at += plain.len();
        Ok(plain)
    }

    /// The character of an escape sequence.
    fn escape(&mut self, notation: Notation) -> Result<char, Error> {
        let offset = self.at;
        self.at += 1;
        let c = self.next_char("a string")?;
        let escaped = match c {
            '"' | '\\' => Some(c),
            '/' if notation == Notation::Json => Some(c),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => self.unicode_escape(offset)?,
            '0'..='7' if notation == Notation::Edn => self.octal_escape(offset),
            _ => None,
        };
        escaped.ok_or_else(|| {
            let rest = &self.text[offset + 1..];
            let shown = rest.chars().take(6).take_while(|c| *c != '"').map(char::len_utf8).sum();
            let end = if notation == Notation::Json { shown } else { self.at - offset - 1 };
            self.error(Reason::Escape { text: quoted(&rest[..end]) }, offset)
        })
    }

    /// The character of four hexadecimal digits, or of eight for a surrogate pair.
    fn unicode_escape(&mut self, offset: usize) -> Result<Option<char>, Error> {
        let Some(first) = self.unit() else { return Ok(None) };
        let mut second = None;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 2;
            second = self.unit();
            if second.is_none() {
                return Ok(None);
            }
        }
        let mut pair = char::decode_utf16([Some(first), second].into_iter().flatten());
        match (pair.next(), pair.next()) {
            (Some(Ok(c)), None) => Ok(Some(c)),
            _ => Err(self.error(Reason::LoneSurrogate, offset)),
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        self.at += 4;
        // A sign is not a digit.
        let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hexadecimal.then(|| u16::from_str_radix(digits, 16).ok())?
    }

    /// Up to three octal digits, terminated like a number.
    fn octal_escape(&mut self, offset: usize) -> Option<char> {
        let start = offset + 1;
        self.at = start;
        while let Some(c) = self.rest().chars().next() {
            let ends = is_space(c) || (c.is_ascii() && CLASSES[c as usize] & MACRO != 0);
            if ends || self.at - start == 3 {
                break;
            }
            self.at += c.len_utf8();
            if !c.is_digit(8) {
                return None;
            }
        }
        u8::from_str_radix(&self.text[start..self.at], 8).ok().map(char::from)
    }
}

/// The character that follows the backslash in the escape sequence of a byte; 0 if it needs none. EDN does not escape
/// those with `u`.
const ESCAPES: [u8; 256] = escapes();

const fn escapes() -> [u8; 256] {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = b'u';
        control += 1;
    }
    escapes[0x8] = b'b';
    escapes[b'\t' as usize] = b't';
    escapes[b'\n' as usize] = b'n';
    escapes[0xc] = b'f';
    escapes[b'\r' as usize] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
}

/// Appends a string with the escape sequences that JSON requires, or with those that Clojure writes, since few EDN
/// readers support others.
pub(crate) fn write_string(text: &str, notation: Notation, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = ESCAPES[byte as usize];
        if escape == 0 || (escape == b'u' && notation == Notation::Edn) {
            continue;
        }
        out.push_str(&text[written..at]);
        out.push('\\');
        out.push(char::from(escape));
        if escape == b'u' {
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte:04x}");
        }
        written = at + 1;
    }
    out.push_str(&text[written..]);
    out.push('"');
}
