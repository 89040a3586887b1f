//! White space, symbols and keywords.

use super::{Fault, Reader};
use crate::error::{Reason, quoted};
use crate::syntax;
use crate::syntax::{CLASSES, END, FORBIDDEN, OTHER, PLAIN, SPACE, is_digit, is_space};
use crate::value::{Keyword, Symbol, Value};

impl<'a> Reader<'a> {
    /// Skips white space and comments.
    pub(super) fn skip_space(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_white();
            if self.peek() != Some(b';') {
                return Ok(());
            }
            let rest = &self.text.as_bytes()[self.at..];
            self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        }
    }

    /// Skips white space.
    pub(super) fn skip_white(&mut self) {
        while let Some(byte) = self.peek() {
            match CLASSES[byte as usize] {
                SPACE => self.at += 1,
                OTHER => match self.rest().chars().next() {
                    Some(c) if is_space(c) => self.at += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    pub(super) fn keyword(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        self.at += 1;
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
        Err(Fault { reason: Reason::Keyword { text: quoted(text) }, offset })
    }

    /// Reads a symbol, a literal, or a number with a sign.
    pub(super) fn symbol_or_number(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        let mut chars = self.rest().chars();
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
        Err(Fault { reason: Reason::Symbol { text: quoted(text) }, offset })
    }

    /// Reads a token. The flag is whether all its characters are allowed at any place of a name.
    pub(super) fn token(&mut self) -> Result<(&'a str, bool), Fault> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut plain = true;
        while let Some(byte) = bytes.get(self.at) {
            let class = CLASSES[*byte as usize];
            if class & PLAIN != 0 {
                self.at += 1;
                continue;
            }
            if class & (SPACE | END) != 0 {
                break;
            }
            if class & FORBIDDEN != 0 {
                let reason = Reason::Constituent { found: char::from(*byte) };
                return Err(Fault { reason, offset: self.at });
            }
            plain = false;
            if class & OTHER != 0 {
                match self.rest().chars().next() {
                    Some(c) if !is_space(c) => self.at += c.len_utf8(),
                    _ => break,
                }
            } else {
                self.at += 1;
            }
        }
        Ok((&self.text[start..self.at], plain))
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
