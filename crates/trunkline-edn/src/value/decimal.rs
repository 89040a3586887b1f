use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::integer::Integer;
use crate::error::{Error, Reason, quoted};
use crate::syntax;

/// An exact decimal number that keeps its scale: `1.50M`.
///
/// Equality is that of the numbers: `1.5M` equals `1.50M`.
#[derive(Clone)]
pub struct Decimal {
    negative: bool,
    /// Without leading zeros; `0` for zero.
    digits: Box<str>,
    /// The number of digits after the point; if negative, the number of zeros after the digits.
    scale: i32,
}

impl Decimal {
    /// The digits as an integer: 150 for `1.50M`.
    #[must_use]
    pub fn unscaled(&self) -> Integer {
        Integer::from_digits(self.negative, &self.digits)
    }

    /// The number of digits after the point: 2 for `1.50M`. If negative, the number of zeros after the digits: -3 for
    /// `1E+3M`.
    #[must_use]
    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// The nearest floating-point number, which may be infinite.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // Digits with an exponent always parse.
        format!("{sign}{}e{}", self.digits, -i64::from(self.scale)).parse().unwrap_or(f64::NAN)
    }

    /// The shortest decimal whose nearest floating-point number this is.
    pub(crate) fn from_f64(number: f64) -> Option<Self> {
        zmij::Buffer::new().format(number).parse().ok()
    }

    /// Appends the number without `M`. As in Java, there is an exponent if the number would otherwise have more than
    /// five zeros before the digits, or zeros after them.
    pub(crate) fn write_to(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        let (digits, scale) = (&*self.digits, i64::from(self.scale));
        let length = digits.len() as i64;
        let exponent = length - 1 - scale;
        if scale == 0 {
            out.push_str(digits);
        } else if scale > 0 && exponent >= -6 {
            match usize::try_from(length - scale) {
                Ok(whole) if whole > 0 => {
                    out.push_str(&digits[..whole]);
                    out.push('.');
                    out.push_str(&digits[whole..]);
                }
                _ => {
                    out.push_str("0.");
                    (length..scale).for_each(|_| out.push('0'));
                    out.push_str(digits);
                }
            }
        } else {
            out.push_str(&digits[..1]);
            if length > 1 {
                out.push('.');
                out.push_str(&digits[1..]);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            // Writing to a string cannot fail.
            let _ = write!(out, "E{sign}{}", exponent.unsigned_abs());
        }
    }

    /// Sign, digits without trailing zeros, and scale: equal for equal numbers.
    fn normalized(&self) -> (bool, &str, i64) {
        let digits = self.digits.trim_end_matches('0');
        if digits.is_empty() {
            return (false, "", 0);
        }
        let dropped = (self.digits.len() - digits.len()) as i64;
        (self.negative, digits, i64::from(self.scale) - dropped)
    }
}

/// Parses the text of EDN, with or without `M`.
impl FromStr for Decimal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = || Error::from(Reason::number(text));
        let large = || Error::from(Reason::Exponent { text: quoted(text) });
        let number = text.strip_suffix('M').unwrap_or(text);
        let negative = number.starts_with('-');
        let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = unsigned.split_at(digits);
        if whole.is_empty() || !syntax::is_fraction(rest) {
            return Err(invalid());
        }
        let (fraction, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let fraction = fraction.trim_start_matches('.');
        let exponent = exponent.parse::<i64>().map_err(|_| large())?;
        let scale =
            i64::try_from(fraction.len()).ok().and_then(|scale| scale.checked_sub(exponent));
        let scale = scale.and_then(|scale| i32::try_from(scale).ok()).ok_or_else(large)?;
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        let digits = if significant.is_empty() { "0" } else { significant };
        // The exponent has at most 32 bits, in the text and in normal notation.
        let written = digits.len() as i64 - 1 - i64::from(scale);
        if i32::try_from(exponent).is_err() || i32::try_from(written).is_err() {
            return Err(large());
        }
        let negative = negative && !significant.is_empty();
        Ok(Self { negative, digits: digits.into(), scale })
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.normalized() == other.normalized()
    }
}

impl Eq for Decimal {}

/// The order of the numbers: `1.5M` and `1.50M` are equal.
impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        /// Sign, number of digits before the point, and digits, which compare as text.
        fn rank(decimal: &Decimal) -> (i8, i64, &str) {
            let (negative, digits, scale) = decimal.normalized();
            let sign = if digits.is_empty() { 0 } else { 1 - 2 * i8::from(negative) };
            (sign, digits.len() as i64 - scale, digits)
        }
        let (this, other) = (rank(self), rank(other));
        let of_sign = this.0.cmp(&other.0);
        of_sign.then_with(|| if this.0 < 0 { other.cmp(&this) } else { this.cmp(&other) })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normalized().hash(state);
    }
}

/// Without `M`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_to(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}M")
    }
}
