use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, ToPrimitive as _, Zero as _};

use super::integer::Integer;
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
            _ => nearest(&self.numerator().to_big(), &self.denominator().to_big()),
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
                return match divide(&upper.into(), &(lower as i64).into()) {
                    Ok(Quotient::Ratio(ratio)) => Some(ratio),
                    _ => None,
                };
            }
            rest = (rest - whole).recip();
        }
        None
    }

    /// Parses the text of EDN. `4/2`, which is an integer, is an error.
    pub(crate) fn parse(text: &str, limit: usize) -> Result<Self, Error> {
        let invalid = || Error::from(Reason::number(text));
        let (upper, lower) = text.split_once('/').ok_or_else(invalid)?;
        let (upper, lower): (Integer, Integer) = (upper.parse()?, lower.parse()?);
        if upper.digits().max(lower.digits()) > limit {
            return Err(Error::from(Reason::TooManyDigits { limit }));
        }
        match divide(&upper, &lower)? {
            Quotient::Ratio(ratio) => Ok(ratio),
            Quotient::Integer(_) => Err(invalid()),
        }
    }
}

/// The quotient of two integers.
pub(super) enum Quotient {
    Integer(Integer),
    Ratio(Ratio),
}

pub(super) fn divide(numerator: &Integer, denominator: &Integer) -> Result<Quotient, Error> {
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
        return Ok(Quotient::Integer(numerator.into()));
    }
    let (numerator, denominator) = (numerator.into(), denominator.into());
    Ok(Quotient::Ratio(Ratio(Box::new(Terms { numerator, denominator }))))
}

/// Floating-point numbers represent every integer up to this one.
const EXACT: u64 = 1 << 53;
/// The bits of the quotient: more than those of a floating-point number. The last one stores whether there is a
/// remainder.
const BITS: i64 = 66;
/// Floating-point numbers below two to this power are multiples of the least.
const SUBNORMAL: i64 = -1_021;
/// The least floating-point number above zero is two to this power.
const LEAST: i64 = -1_074;

fn nearest(upper: &BigInt, lower: &BigInt) -> f64 {
    let sign = if upper.sign() == Sign::Minus { -1.0 } else { 1.0 };
    // Two to this power is between half of the number and twice the number.
    let power = upper.bits() as i64 - lower.bits() as i64;
    let is_small = power < SUBNORMAL;
    let shift = if is_small { -LEAST } else { BITS - power };
    let (mut upper, mut lower) = (upper.magnitude().clone(), lower.magnitude().clone());
    if shift >= 0 {
        upper <<= shift;
    } else {
        lower <<= -shift;
    }
    let (quotient, rest) = upper.div_rem(&lower);
    if is_small {
        let count = quotient.to_u64().unwrap_or_default();
        let is_up = match (rest << 1_u8).cmp(&lower) {
            Ordering::Less => false,
            Ordering::Equal => count % 2 == 1,
            Ordering::Greater => true,
        };
        // The bits of a subnormal number are its multiple of the least one.
        return sign * f64::from_bits(count + u64::from(is_up));
    }
    let quotient = quotient.to_u128().unwrap_or(u128::MAX) | u128::from(!rest.is_zero());
    sign * scaled(quotient as f64, -shift)
}

/// `number` times two to this power.
fn scaled(mut number: f64, mut power: i64) -> f64 {
    while power != 0 {
        // In steps: the power alone may be out of range while the product is not.
        let step = power.clamp(-1_000, 1_000);
        number *= 2_f64.powi(step as i32);
        power -= step;
    }
    number
}

/// The text of EDN, in which each term has at most 1,024 digits. `4/2`, which is an integer, is an error.
impl FromStr for Ratio {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text, MAX_DIGITS)
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
