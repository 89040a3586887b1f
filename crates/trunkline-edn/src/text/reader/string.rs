//! Strings and characters.

use super::{Fault, Reader};
use crate::error::{Reason, quoted};
use crate::syntax::{self, CLASSES, MACRO, is_space};
use crate::value::Value;

impl Reader<'_> {
    pub(super) fn string(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut string = String::new();
        loop {
            let from = self.at;
            let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[from..]) else {
                let reason = Reason::UnexpectedEnd { within: "a string" };
                return Err(Fault { reason, offset: self.text.len() });
            };
            self.at += length;
            if bytes[self.at] == b'"' {
                let rest = &self.text[from..self.at];
                self.at += 1;
                if from == start {
                    return Ok(Value::String(rest.to_owned()));
                }
                string.push_str(rest);
                return Ok(Value::String(string));
            }
            if from == start {
                // The minimum length, up to the next quote.
                string.reserve(memchr::memchr(b'"', &bytes[start..]).unwrap_or(0));
            }
            string.push_str(&self.text[from..self.at]);
            let escaped = self.escape()?;
            string.push(escaped);
        }
    }

    /// The character of an escape sequence.
    fn escape(&mut self) -> Result<char, Fault> {
        let offset = self.at;
        self.at += 1;
        let Some(c) = self.rest().chars().next() else {
            let reason = Reason::UnexpectedEnd { within: "a string" };
            return Err(Fault { reason, offset: self.text.len() });
        };
        self.at += c.len_utf8();
        let simple = match c {
            't' => '\t',
            'r' => '\r',
            'n' => '\n',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' => c,
            'u' => return self.unicode_escape(offset),
            '0'..='7' => return self.octal_escape(offset),
            _ => return Err(self.no_escape(offset)),
        };
        Ok(simple)
    }

    fn unicode_escape(&mut self, offset: usize) -> Result<char, Fault> {
        let Some(unit) = self.unit() else { return Err(self.no_escape(offset)) };
        let mut units = vec![unit];
        if (0xd800..0xdc00).contains(&unit) && self.rest().starts_with("\\u") {
            self.at += 2;
            let Some(second) = self.unit() else { return Err(self.no_escape(offset)) };
            units.push(second);
        }
        let mut decoded = char::decode_utf16(units);
        match (decoded.next(), decoded.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => Err(Fault { reason: Reason::LoneSurrogate, offset }),
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        self.at += 4;
        is_hexadecimal(digits).then(|| u16::from_str_radix(digits, 16).ok())?
    }

    /// Up to three octal digits, which end at what ends a number.
    fn octal_escape(&mut self, offset: usize) -> Result<char, Fault> {
        let start = offset + 1;
        self.at = start;
        while let Some(c) = self.rest().chars().next() {
            let ends = is_space(c) || (c.is_ascii() && CLASSES[c as usize] & MACRO != 0);
            if ends || self.at - start == 3 {
                break;
            }
            self.at += c.len_utf8();
            if !c.is_digit(8) {
                return Err(self.no_escape(offset));
            }
        }
        let byte = u8::from_str_radix(&self.text[start..self.at], 8);
        byte.map(char::from).map_err(|_| self.no_escape(offset))
    }

    fn no_escape(&self, offset: usize) -> Fault {
        let text = quoted(&self.text[offset + 1..self.at]);
        Fault { reason: Reason::Escape { text }, offset }
    }

    pub(super) fn character(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        self.at += 1;
        let Some(first) = self.rest().chars().next() else {
            let reason = Reason::UnexpectedEnd { within: "a character" };
            return Err(Fault { reason, offset: self.text.len() });
        };
        let start = self.at;
        // The first character is part of the token, also if it would end another one.
        self.at += first.len_utf8();
        self.token()?;
        let text = &self.text[start..self.at];
        match decoded(first, text) {
            Some(c) => Ok(Value::Char(c)),
            None => Err(Fault { reason: Reason::Character { text: quoted(text) }, offset }),
        }
    }
}

/// The character with this text after a backslash.
fn decoded(first: char, text: &str) -> Option<char> {
    if text.len() == first.len_utf8() {
        return (first.len_utf16() == 1).then_some(first);
    }
    if let Some(named) = syntax::named_character(text) {
        return Some(named);
    }
    let digits = &text[first.len_utf8()..];
    match first {
        'u' if digits.len() == 4 && is_hexadecimal(digits) => {
            u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
        }
        'o' if digits.len() <= 3 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) => {
            u8::from_str_radix(digits, 8).ok().map(char::from)
        }
        _ => None,
    }
}

fn is_hexadecimal(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
