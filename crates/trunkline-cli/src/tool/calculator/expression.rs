//! Expressions, read and computed in one go.

use super::number::{Number, Reason};

/// The most bytes of an expression.
const MAX_LENGTH: usize = 1_000;
/// How deep parentheses, signs and powers may nest.
const MAX_DEPTH: usize = 100;

/// The value of an expression, or what is wrong and where, for people.
pub(super) fn value(text: &str) -> Result<Number, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("an expression has at most {MAX_LENGTH} bytes"));
    }
    let mut reader = Reader { text, at: 0, depth: 0 };
    let read = reader.sum().and_then(|value| match reader.peek() {
        None => Ok(value),
        Some(b')') => Err("this parenthesis was not opened"),
        Some(_) => Err("an operator is expected here: one of + - * / % ^"),
    });
    read.map_err(|reason| {
        let column = text.get(..reader.at).unwrap_or(text).chars().count() + 1;
        format!("character {column} of the expression: {reason}")
    })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Number, Reason> {
        let mut value = self.product()?;
        loop {
            value = match self.peek() {
                Some(b'+') => self.apply(1, Self::product, |right| value.plus(&right))?,
                Some(b'-') => self.apply(1, Self::product, |right| value.minus(right))?,
                _ => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<Number, Reason> {
        let mut value = self.signed()?;
        loop {
            value = match self.peek() {
                Some(b'*') => self.apply(1, Self::signed, |right| value.times(&right))?,
                Some(b'/') => self.apply(1, Self::signed, |right| value.over(&right))?,
                Some(b'%') => self.apply(1, Self::signed, |right| value.rest(&right))?,
                _ => return Ok(value),
            }
        }
    }

    fn signed(&mut self) -> Result<Number, Reason> {
        match self.peek() {
            Some(b'-') => self.apply(1, Self::deeper, |value| Ok(value.negated())),
            Some(b'+') => self.apply(1, Self::deeper, Ok),
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Result<Number, Reason> {
        let base = self.operand()?;
        let length = match self.peek() {
            Some(b'^') => 1,
            Some(b'*') if self.text.as_bytes().get(self.at + 1) == Some(&b'*') => 2,
            _ => return Ok(base),
        };
        self.apply(length, Self::deeper, |exponent| base.power(&exponent))
    }

    fn operand(&mut self) -> Result<Number, Reason> {
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                self.descend()?;
                let value = self.sum()?;
                self.depth -= 1;
                if self.peek() != Some(b')') {
                    return Err("a closing parenthesis is expected here");
                }
                self.at += 1;
                Ok(value)
            }
            Some(b'0'..=b'9' | b'.') => self.number(),
            None => Err("the expression ends where a number is expected"),
            Some(_) => Err("a number is expected here"),
        }
    }

    fn number(&mut self) -> Result<Number, Reason> {
        let start = self.at;
        let mut digits = self.digits().to_owned();
        let mut fraction = 0;
        if self.text.as_bytes().get(self.at) == Some(&b'.') {
            self.at += 1;
            let behind = self.digits();
            fraction = behind.len();
            digits += behind;
        }
        if digits.is_empty() {
            self.at = start;
            return Err("a number has digits");
        }
        let exponent = self.exponent()?;
        Number::read(&digits, fraction, exponent).inspect_err(|_| self.at = start)
    }

    /// What follows the `e` of a number; 0 if there is none.
    fn exponent(&mut self) -> Result<i64, Reason> {
        let bytes = self.text.as_bytes();
        if !matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            return Ok(0);
        }
        let start = self.at;
        self.at += 1;
        if matches!(bytes.get(self.at), Some(b'+' | b'-')) {
            self.at += 1;
        }
        if self.digits().is_empty() {
            return Err("the exponent of a number is a whole number, as in 1.5e-3");
        }
        let text = self.text.get(start + 1..self.at).unwrap_or_default();
        // What has more digits is too large or too small in any case.
        let most = if text.starts_with('-') { i64::MIN } else { i64::MAX };
        Ok(text.parse().unwrap_or(most))
    }

    fn digits(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn deeper(&mut self) -> Result<Number, Reason> {
        self.descend()?;
        let value = self.signed()?;
        self.depth -= 1;
        Ok(value)
    }

    fn descend(&mut self) -> Result<(), Reason> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err("this is nested too deep") } else { Ok(()) }
    }

    /// Takes an operator of so many bytes, reads what is right of it, and computes. What cannot be computed
    /// is told where the operator stands.
    fn apply(
        &mut self,
        length: usize,
        right: impl FnOnce(&mut Self) -> Result<Number, Reason>,
        compute: impl FnOnce(Number) -> Result<Number, Reason>,
    ) -> Result<Number, Reason> {
        let operator = self.at;
        self.at += length;
        let right = right(self)?;
        compute(right).inspect_err(|_| self.at = operator)
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..)?;
        self.at += rest.len() - rest.trim_start().len();
        self.text.as_bytes().get(self.at).copied()
    }
}
