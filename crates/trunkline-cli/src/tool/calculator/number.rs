use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

/// The most bits of a numerator, and of a denominator: about 3,000 digits.
const MAX_BITS: u64 = 10_000;
/// How many digits are written of a decimal that does not end.
const DIGITS: usize = 50;

/// A rational number, in lowest terms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    numerator: BigInt,
    /// Greater than 0.
    denominator: BigInt,
}

/// What has no value here.
pub(super) type Reason = &'static str;

const BY_ZERO: Reason = "this divides by zero";
const TOO_LARGE: Reason = "the numbers get too large: about 3,000 digits are the most";

impl Number {
    fn new(numerator: BigInt, denominator: BigInt) -> Result<Self, Reason> {
        let divisor = numerator.gcd(&denominator);
        let sign = if denominator.is_negative() { -BigInt::one() } else { BigInt::one() };
        let number = Self {
            numerator: &sign * numerator / &divisor,
            denominator: sign * denominator / divisor,
        };
        let bits = number.numerator.bits().max(number.denominator.bits());
        if bits > MAX_BITS { Err(TOO_LARGE) } else { Ok(number) }
    }

    /// That of these digits, the last `fraction` of which stand behind the point, times a power of ten.
    pub(super) fn read(digits: &str, fraction: usize, exponent: i64) -> Result<Self, Reason> {
        let digits = digits.parse::<BigUint>().map_err(|_| "this is no number")?;
        if digits.is_zero() {
            return Self::new(BigInt::zero(), BigInt::one());
        }
        let fraction = i64::try_from(fraction).map_err(|_| TOO_LARGE)?;
        let power = exponent.checked_sub(fraction).ok_or(TOO_LARGE)?;
        let factor = ten_to(power.unsigned_abs())?;
        let digits = BigInt::from(digits);
        if power < 0 {
            Self::new(digits, factor)
        } else {
            Self::new(digits * factor, BigInt::one())
        }
    }

    pub(super) fn negated(self) -> Self {
        Self { numerator: -self.numerator, denominator: self.denominator }
    }

    pub(super) fn plus(self, other: &Self) -> Result<Self, Reason> {
        let left = self.numerator * &other.denominator;
        let right = &other.numerator * &self.denominator;
        Self::new(left + right, self.denominator * &other.denominator)
    }

    pub(super) fn minus(self, other: Self) -> Result<Self, Reason> {
        self.plus(&other.negated())
    }

    pub(super) fn times(self, other: &Self) -> Result<Self, Reason> {
        Self::new(self.numerator * &other.numerator, self.denominator * &other.denominator)
    }

    pub(super) fn over(self, other: &Self) -> Result<Self, Reason> {
        if other.numerator.is_zero() {
            return Err(BY_ZERO);
        }
        Self::new(self.numerator * &other.denominator, self.denominator * &other.numerator)
    }

    /// The rest of a division whose quotient is rounded down.
    pub(super) fn rest(self, other: &Self) -> Result<Self, Reason> {
        if other.numerator.is_zero() {
            return Err(BY_ZERO);
        }
        // Of both with one denominator: the quotient may be too large where the rest is not.
        let divisor = &other.numerator * &self.denominator;
        let rest = (self.numerator * &other.denominator).mod_floor(&divisor);
        Self::new(rest, self.denominator * &other.denominator)
    }

    pub(super) fn power(self, exponent: &Self) -> Result<Self, Reason> {
        if !exponent.denominator.is_one() {
            return Err("an exponent is a whole number");
        }
        let base = if exponent.numerator.is_negative() {
            if self.numerator.is_zero() {
                return Err(BY_ZERO);
            }
            Self { numerator: self.denominator, denominator: self.numerator }
        } else {
            self
        };
        let is_unit = base.numerator.magnitude().is_one() || base.numerator.is_zero();
        if is_unit && base.denominator.magnitude().is_one() {
            // Any exponent will do, of which only these matter.
            let exponent = &exponent.numerator;
            let same = if exponent.is_zero() { 0_u32 } else { 2 - u32::from(exponent.is_odd()) };
            return Self::new(base.numerator.pow(same), base.denominator.pow(same));
        }
        let exponent = exponent.numerator.magnitude().to_u32().ok_or(TOO_LARGE)?;
        // Before that much is computed.
        let bits = base.numerator.bits().max(base.denominator.bits());
        if bits.saturating_sub(1).saturating_mul(exponent.into()) > MAX_BITS {
            return Err(TOO_LARGE);
        }
        Self::new(base.numerator.pow(exponent), base.denominator.pow(exponent))
    }

    /// The decimal, if it ends.
    pub(super) fn decimal(&self) -> Option<String> {
        let five = BigInt::from(5);
        let twos = self.denominator.trailing_zeros().unwrap_or_default();
        let mut rest = &self.denominator >> twos;
        let mut fives = 0;
        while (&rest % &five).is_zero() {
            rest /= &five;
            fives += 1;
        }
        if !rest.is_one() {
            return None;
        }
        let places = twos.max(fives);
        let scaled = &self.numerator * ten_to(places).ok()? / &self.denominator;
        Some(pointed(&scaled, usize::try_from(places).ok()?))
    }

    /// The decimal of so many digits that is nearest, or the whole number if it has more; of two as near
    /// the even one.
    pub(super) fn rounded(&self) -> String {
        let (above, below) = (self.numerator.magnitude(), self.denominator.magnitude());
        let length = |number: &BigUint| number.to_string().len();
        let scaled = |places: usize| above * Pow::pow(BigUint::from(10_u32), places);
        // One digit too many may come of it.
        let places = (DIGITS + length(below)).saturating_sub(length(above));
        let is_too_long = length(&(scaled(places) / below)) > DIGITS;
        let places = places.saturating_sub(usize::from(is_too_long));
        let (quotient, rest) = scaled(places).div_rem(below);
        let half = (rest * 2_u32).cmp(below);
        let is_up = half.is_gt() || (half.is_eq() && quotient.is_odd());
        let quotient = if is_up { quotient + 1_u32 } else { quotient };
        let sign = if self.numerator.is_negative() { Sign::Minus } else { Sign::Plus };
        pointed(&BigInt::from_biguint(sign, quotient), places)
    }
}

/// As a fraction: `5/6`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn ten_to(power: u64) -> Result<BigInt, Reason> {
    let power = u32::try_from(power).ok().filter(|&power| u64::from(power) <= MAX_BITS);
    Ok(BigInt::from(10).pow(power.ok_or(TOO_LARGE)?))
}

/// A whole number with a point before its last digits.
fn pointed(number: &BigInt, places: usize) -> String {
    let sign = if number.is_negative() { "-" } else { "" };
    let digits = format!("{:0>1$}", number.magnitude().to_string(), places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}
