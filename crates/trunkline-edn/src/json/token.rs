//! Numbers and literals of JSON in a text.

use super::number;
use super::read::{Fault, Reader};
use crate::error::Reason;
use crate::value::Value;

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        if let Some((value, length)) = number::read(&self.text[offset..])
            && !self.text.as_bytes().get(offset + length).copied().is_some_and(is_word)
        {
            self.at += length;
            return value.map_err(|reason| Fault { reason, offset });
        }
        Err(Fault { reason: Reason::number(self.word()), offset })
    }

    pub(super) fn literal(&mut self) -> Result<Value, Fault> {
        let offset = self.at;
        let value = match self.word() {
            "null" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(Fault::json("a value is expected", offset)),
        };
        Ok(value)
    }

    /// What could be a number or a literal, up to what ends it.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        self.at += length;
        &rest[..length]
    }
}

/// Whether a byte can be part of a number or a literal, right or wrong.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}
