//! Reads strings.

use std::borrow::Cow;

use super::reader::{Fault, Reader};
use crate::error::{Reason, quoted};

impl<'a> Reader<'a> {
    /// Reads a string, at its first quote.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let plain = self.plain()?;
        if self.is_at(b'"') {
            self.at += 1;
            return Ok(plain.into());
        }
        let mut string = plain.to_owned();
        while !self.is_at(b'"') {
            string.push(self.escape()?);
            string.push_str(self.plain()?);
        }
        self.at += 1;
        Ok(string.into())
    }

    /// Reads up to the next quote or escape sequence.
    fn plain(&mut self) -> Result<&'a str, Fault> {
        let rest = &self.text[self.at..];
        let Some(length) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
            return Err(self.unexpected_end("a string"));
        };
        let plain = &rest[..length];
        if let Some(at) = plain.bytes().position(|byte| byte < 0x20) {
            let reason = Reason::Json { what: "a control character in a string is not escaped" };
            return Err(Fault { reason, offset: self.at + at });
        }
        self.at += length;
        Ok(plain)
    }

    /// The character of an escape sequence.
    fn escape(&mut self) -> Result<char, Fault> {
        let offset = self.at;
        self.at += 1;
        let Some(c) = self.text[self.at..].chars().next() else {
            return Err(self.unexpected_end("a string"));
        };
        self.at += c.len_utf8();
        Ok(match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(offset),
            _ => return Err(self.no_escape(offset)),
        })
    }

    fn unicode_escape(&mut self, offset: usize) -> Result<char, Fault> {
        let first = self.unit(offset)?;
        if let Some(c) = char::from_u32(u32::from(first)) {
            return Ok(c);
        }
        let mut second = None;
        if first < 0xdc00 && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            second = Some(self.unit(offset)?);
        }
        let mut pair = char::decode_utf16([Some(first), second].into_iter().flatten());
        match pair.next() {
            Some(Ok(c)) => Ok(c),
            _ => Err(Fault { reason: Reason::LoneSurrogate, offset }),
        }
    }

    /// Four hexadecimal digits of the escape sequence that begins at `offset`.
    fn unit(&mut self, offset: usize) -> Result<u16, Fault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        let value = |digit: &u8| char::from(*digit).to_digit(16);
        match digits.iter().map(value).try_fold(0, |unit, digit| Some(unit * 16 + digit? as u16)) {
            Some(unit) if digits.len() == 4 => {
                self.at += 4;
                Ok(unit)
            }
            _ => Err(self.no_escape(offset)),
        }
    }

    fn no_escape(&self, offset: usize) -> Fault {
        let rest = &self.text[offset + 1..];
        let shown_length = rest.chars().take(6).take_while(|c| *c != '"').map(char::len_utf8).sum();
        let text = quoted(&rest[..shown_length]);
        Fault { reason: Reason::Escape { text }, offset }
    }
}
