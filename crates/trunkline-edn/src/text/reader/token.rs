//! White space, symbols, keywords and characters.

use super::Reader;
use crate::error::{Error, Reason, quoted};
use crate::syntax;
use crate::syntax::{CLASSES, END, FORBIDDEN, OTHER, PLAIN, SPACE, is_digit, is_space};
use crate::value::{Keyword, Symbol, Value};

impl<'a> Reader<'a> {
    /// Skips white space.
    pub(super) fn skip_white(&mut self) {
        while let Some(byte) = self.input.peek() {
            match CLASSES[byte as usize] {
                SPACE => self.input.at += 1,
                OTHER => match self.input.rest().chars().next() {
                    Some(c) if is_space(c) => self.input.at += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    pub(super) fn keyword(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        self.input.at += 1;
        let (text, plain) = self.token()?;
        if let Some(keyword) = self.keywords.get(text) {
            return Ok(Value::Keyword(keyword));
        }
        let is_keyword = !text.is_empty()
            && (plain || (!text.starts_with(':') && syntax::is_keyword_token(text)));
        if is_keyword {
            let keyword = Keyword::from_checked(text);
            self.keywords.insert(&keyword);
            return Ok(Value::Keyword(keyword));
        }
        Err(self.input.error(Reason::Keyword { text: quoted(text) }, offset))
    }

    /// Reads a symbol, a literal, or a number with a sign.
    pub(super) fn symbol_or_number(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        let mut chars = self.input.rest().chars();
        let is_number = match (chars.next(), chars.next()) {
            (Some('+' | '-'), Some(second)) => is_digit(second),
            (Some(first), _) => is_digit(first),
            (None, _) => false,
        };
        if is_number {
            return self.number();
        }
        let (text, plain) = self.token()?;
        match text {
            "nil" => return Ok(Value::Nil),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            _ => {}
        }
        // It does not begin with a digit.
        let is_symbol = plain || (!text.starts_with('#') && syntax::is_symbol_token(text));
        if is_symbol && !text.is_empty() {
            return Ok(Value::Symbol(Symbol::from_checked(text)));
        }
        Err(self.input.error(Reason::Symbol { text: quoted(text) }, offset))
    }

    /// Reads a token. The flag is whether all its characters are allowed at any place of a name.
    pub(super) fn token(&mut self) -> Result<(&'a str, bool), Error> {
        let (start, bytes) = (self.input.at, self.input.text.as_bytes());
        let mut plain = true;
        while let Some(byte) = bytes.get(self.input.at) {
            let class = CLASSES[*byte as usize];
            if class & PLAIN != 0 {
                self.input.at += 1;
                continue;
            }
            if class & (SPACE | END) != 0 {
                break;
            }
            if class & FORBIDDEN != 0 {
                let reason = Reason::Constituent { found: char::from(*byte) };
                return Err(self.input.error(reason, self.input.at));
            }
            plain = false;
            if class & OTHER != 0 {
                match self.input.rest().chars().next() {
                    Some(c) if !is_space(c) => self.input.at += c.len_utf8(),
                    _ => break,
                }
            } else {
                self.input.at += 1;
            }
        }
        Ok((&self.input.text[start..self.input.at], plain))
    }

    pub(super) fn character(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        self.input.at += 1;
        let start = self.input.at;
        // The first character is part of the token, even if it would end another one.
        let first = self.input.next_char("a character")?;
        self.token()?;
        let text = &self.input.text[start..self.input.at];
        character(first, text)
            .map(Value::Char)
            .ok_or_else(|| self.input.error(Reason::Character { text: quoted(text) }, offset))
    }
}

/// The character with this text after a backslash.
fn character(first: char, text: &str) -> Option<char> {
    let digits = &text[first.len_utf8()..];
    if digits.is_empty() {
        return (first.len_utf16() == 1).then_some(first);
    }
    let is_hexadecimal = || digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match first {
        'u' if digits.len() == 4 && is_hexadecimal() => {
            u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
        }
        'o' if digits.len() <= 3 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) => {
            u8::from_str_radix(digits, 8).ok().map(char::from)
        }
        _ => syntax::named_character(text),
    }
}
