use std::fmt;
use std::str::FromStr;

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, ToPrimitive as _, Zero as _};

use crate::error::{Error, Reason};
use crate::integer::Integer;
use crate::value::Value;

/// A ratio of two integers, in lowest terms, that is no integer: `1/3`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ratio(Box<Terms>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Terms {
    numerator: Integer,
    /// Over one.
    denominator: Integer,
}

impl Ratio {
    /// The number that two integers make: a ratio, or the integer that it reduces to.
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

    /// The upper term, which has the sign.
    #[must_use]
    pub fn numerator(&self) -> &Integer {
        &self.0.numerator
    }

    /// The lower term, two or more.
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
}

/// Up to here a floating-point number holds every integer.
const EXACT: u64 = 1 << 53;
/// More bits than a floating-point number has, so that one of them can tell of all that follow.
const BITS: i64 = 66;

fn nearest(upper: &BigInt, lower: &BigInt) -> f64 {
    let sign = if upper.sign() == Sign::Minus { -1.0 } else { 1.0 };
    let shift = BITS - (upper.bits() as i64 - lower.bits() as i64);
    let (mut upper, mut lower) = (upper.magnitude().clone(), lower.magnitude().clone());
    if shift >= 0 {
        upper <<= shift;
    } else {
        lower <<= -shift;
    }
    let (quotient, rest) = upper.div_rem(&lower);
    let quotient = quotient.to_u128().unwrap_or(u128::MAX) | u128::from(!rest.is_zero());
    sign * scaled(quotient as f64, -shift)
}

/// `number` times two to this power.
fn scaled(mut number: f64, mut power: i64) -> f64 {
    while power != 0 {
        // A step at a time: the power alone may be out of range where the product is not.
        let step = power.clamp(-1_000, 1_000);
        number *= 2_f64.powi(step as i32);
        power -= step;
    }
    number
}

/// As EDN writes it. What reduces to an integer is none.
impl FromStr for Ratio {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = || Error::from(Reason::number(text));
        let (upper, lower) = text.split_once('/').ok_or_else(invalid)?;
        match Self::of(&upper.parse()?, &lower.parse()?)? {
            Value::Ratio(ratio) => Ok(ratio),
            _ => Err(invalid()),
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
