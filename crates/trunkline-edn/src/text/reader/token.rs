//! White space, symbols and keywords.

use super::{Fault, Reader};
use crate::error::{Reason, shown};
use crate::syntax;
use crate::syntax::{CLASSES, END, FORBIDDEN, OTHER, PLAIN, SPACE, is_digit, is_space};
use crate::value::{Keyword, Symbol, Value};

impl<'a> Reader<'a> {
    /// Passes white space and comments.
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

    /// Passes white space.
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
        Err(Fault { reason: Reason::Keyword { text: shown(text) }, offset })
    }

    /// What begins with neither a digit nor what says what it is.
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
        // What begins with a digit was a number.
        let is_symbol = plain || (!text.starts_with('#') && syntax::is_symbol_token(text));
        if is_symbol && !text.is_empty() {
            return Ok(Value::Symbol(Symbol::from_checked(text)));
        }
        Err(Fault { reason: Reason::Symbol { text: shown(text) }, offset })
    }

    /// The token that begins here, up to what ends it, and whether it has nothing but characters that
    /// are right wherever they stand.
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
