//! Numbers.

use num_bigint::BigInt;
use num_traits::Num as _;

use super::{Limits, Reader};
use crate::error::{Error, Reason};
use crate::syntax::{self, CLASSES, DIGIT, MACRO, OTHER, SPACE, is_space};
use crate::value::{Integer, Ratio, Value};

impl<'a> Reader<'a> {
    /// A number, which begins with a digit, or with a sign before one.
    pub(super) fn number(&mut self) -> Result<Value, Error> {
        let offset = self.input.at;
        let token = self.number_token();
        number(token, &self.limits).map_err(|reason| self.input.error(reason, offset))
    }

    /// Reads the token of a number. In contrast to a symbol, it ends before a `#`.
    fn number_token(&mut self) -> &'a str {
        let (start, bytes) = (self.input.at, self.input.text.as_bytes());
        while let Some(byte) = bytes.get(self.input.at) {
            let class = CLASSES[*byte as usize];
            if class & (SPACE | MACRO) != 0 {
                break;
            }
            self.input.at += match class {
                OTHER => match self.input.rest().chars().next() {
                    Some(c) if !is_space(c) => c.len_utf8(),
                    _ => break,
                },
                _ => 1,
            };
        }
        &self.input.text[start..self.input.at]
    }
}

fn number(token: &str, limits: &Limits) -> Result<Value, Reason> {
    let invalid = || Reason::number(token);
    let reason = |error: Error| error.reason().clone();
    let unsigned = token.strip_prefix(['-', '+']).unwrap_or(token);
    let negative = token.starts_with('-');
    let digits = unsigned.bytes().take_while(|byte| CLASSES[*byte as usize] & DIGIT != 0).count();
    let (whole, rest) = unsigned.split_at(digits);
    match rest.as_bytes() {
        [] | [b'N'] if digits == 1 || !whole.starts_with('0') => {
            Ok(Value::Integer(Integer::from_digits(negative, whole)))
        }
        [] | [b'N'] => in_radix(negative, &whole[1..], 8, limits).ok_or_else(invalid)?,
        [b'x' | b'X', ..] if whole == "0" => {
            let digits = rest[1..].strip_suffix('N').unwrap_or(&rest[1..]);
            in_radix(negative, digits, 16, limits).ok_or_else(invalid)?
        }
        [b'r' | b'R', ..] if digits <= 2 && !whole.starts_with('0') => {
            let radix = whole.parse().map_err(|_| invalid())?;
            in_radix(negative, &rest[1..], radix, limits).ok_or_else(invalid)?
        }
        [b'/', ..] => Ratio::parse(token, limits.digits).map_err(reason),
        [.., b'M'] => token.parse().map(Value::Decimal).map_err(reason),
        [b'.' | b'e' | b'E', ..] if syntax::is_fraction(rest) => {
            token.parse().map(Value::Float).map_err(|_| invalid())
        }
        _ => Err(invalid()),
    }
}

/// An integer in a radix; `None` if the digits are invalid.
fn in_radix(
    negative: bool,
    digits: &str,
    radix: u32,
    limits: &Limits,
) -> Option<Result<Value, Reason>> {
    let is_radix = (2..=36).contains(&radix);
    if !is_radix || digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if let Ok(small) = i64::from_str_radix(digits, radix) {
        return Some(Ok(Value::from(if negative { -small } else { small })));
    }
    if significant.len() > limits.digits {
        return Some(Err(Reason::TooManyDigits { limit: limits.digits }));
    }
    let large = BigInt::from_str_radix(significant, radix).ok()?;
    Some(Ok(Value::Integer(Integer::from(if negative { -large } else { large }))))
}
