use std::fmt;
use std::str::FromStr;

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, Zero as _};

use super::{Integer, Value};
use crate::error::{Error, Reason};

/// The default limit on the digits of each term.
pub(crate) const MAX_DIGITS: usize = 1_024;

/// A ratio of two integers in lowest terms which is not an integer: `1/3`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ratio(Box<Terms>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Terms {
    numerator: Integer,
    /// Over one.
    denominator: Integer,
}

impl Ratio {
    /// The numerator, which has the sign.
    #[must_use]
    pub fn numerator(&self) -> &Integer {
        &self.0.numerator
    }

    /// The denominator, two or more.
    #[must_use]
    pub fn denominator(&self) -> &Integer {
        &self.0.denominator
    }

    /// The nearest floating-point number, which may be infinite.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match (self.numerator().as_i64(), self.denominator().as_i64()) {
            (Some(upper), Some(lower))
                if upper.unsigned_abs().max(lower.unsigned_abs()) <= EXACT =>
            {
                upper as f64 / lower as f64
            }
            _ => nearest(self.numerator(), self.denominator()),
        }
    }

    /// A simple ratio whose nearest floating-point number this is. It restores each ratio whose product of terms has at
    /// most 52 bits. `None` for integers, and if the terms exceed 53 bits.
    pub(crate) fn from_f64(number: f64) -> Option<Self> {
        let target = number.abs();
        let mut rest = target;
        // A continued fraction: the current convergent and the previous one.
        let (mut upper, mut lower) = (1.0, 0.0);
        let (mut upper_before, mut lower_before) = (0.0, 1.0);
        while rest.is_finite() {
            let whole = rest.floor();
            (upper, upper_before) = (whole * upper + upper_before, upper);
            (lower, lower_before) = (whole * lower + lower_before, lower);
            if upper.max(lower) > EXACT as f64 {
                return None;
            }
            if upper / lower == target {
                let upper = upper.copysign(number) as i64;
                return match Self::of(&upper.into(), &(lower as i64).into()) {
                    Ok(Value::Ratio(ratio)) => Some(ratio),
                    _ => None,
                };
            }
            rest = (rest - whole).recip();
        }
        None
    }

    /// Parses the text of EDN, whose terms have at most `limit` digits.
    pub(crate) fn parse(text: &str, limit: usize) -> Result<Value, Error> {
        let invalid = || Error::from(Reason::number(text));
        let (upper, lower) = text.split_once('/').ok_or_else(invalid)?;
        if !lower.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(invalid());
        }
        let term = |digits: &str| digits.parse::<Integer>().map_err(|_| invalid());
        let (upper, lower) = (term(upper)?, term(lower)?);
        if upper.digits().max(lower.digits()) > limit {
            return Err(Error::from(Reason::TooManyDigits { limit }));
        }
        Self::of(&upper, &lower)
    }

    /// The quotient of two integers: a ratio, or an integer if the denominator divides the numerator. The
    /// time is quadratic in the number of digits, which is not limited here.
    ///
    /// # Errors
    /// [`Reason::DivisionByZero`].
    pub fn of(numerator: &Integer, denominator: &Integer) -> Result<Value, Error> {
        let (numerator, denominator) = (numerator.to_big(), denominator.to_big());
        if denominator.is_zero() {
            return Err(Error::from(Reason::DivisionByZero));
        }
        let mut divisor = numerator.gcd(&denominator);
        if denominator.sign() == Sign::Minus {
            divisor = -divisor;
        }
        let (numerator, denominator) = (numerator / &divisor, denominator / &divisor);
        if denominator.is_one() {
            return Ok(Value::Integer(numerator.into()));
        }
        let (numerator, denominator) = (numerator.into(), denominator.into());
        Ok(Value::Ratio(Self(Box::new(Terms { numerator, denominator }))))
    }
}

/// Floating-point numbers represent every integer up to this one.
const EXACT: u64 = 1 << 53;
/// The digits of the quotient, which are more than a number halfway between two floating-point numbers has.
const QUOTIENT_DIGITS: usize = 770;

/// The nearest floating-point number of a quotient, by its digits. The last one stores whether there is a remainder.
fn nearest(upper: &Integer, lower: &Integer) -> f64 {
    let exponent = (QUOTIENT_DIGITS + lower.digits()).saturating_sub(upper.digits());
    let scale = BigInt::from(10).pow(exponent as u32);
    let (quotient, rest) = (upper.to_big() * scale).div_rem(&lower.to_big());
    let sticky = u8::from(!rest.is_zero());
    // Digits with an exponent always parse.
    format!("{quotient}{sticky}e-{}", exponent + 1).parse().unwrap_or(f64::NAN)
}

/// The text of EDN, in which each term has at most 1,024 digits. `4/2`, which is an integer, is an error.
impl FromStr for Ratio {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match Self::parse(text, MAX_DIGITS)? {
            Value::Ratio(ratio) => Ok(ratio),
            _ => Err(Error::from(Reason::number(text))),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator(), self.denominator())
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
