use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;

use crate::error::{Error, Reason};

/// An exact integer of any size.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Integer(Repr);

/// Large integers are stored as digits, so that reading them takes linear time.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    /// Decimal digits with an optional minus sign, without leading zeros, for integers out of the range of `i64`.
    Large(Box<str>),
}

impl Integer {
    /// The integer, if 64 bits hold it.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Small(small) => Some(small),
            Repr::Large(_) => None,
        }
    }

    /// The nearest floating-point number, which may be infinite.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small(small) => *small as f64,
            // Digits always parse.
            Repr::Large(digits) => digits.parse().unwrap_or(f64::NAN),
        }
    }

    /// The integer of one or more decimal digits.
    pub(crate) fn from_digits(negative: bool, digits: &str) -> Self {
        let significant = digits.trim_start_matches('0');
        // An `i64` holds any 18 digits.
        if significant.len() <= 18 {
            let small =
                significant.bytes().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            return Self(Repr::Small(if negative { -small } else { small }));
        }
        let text = if negative { format!("-{significant}") } else { significant.to_owned() };
        match text.parse() {
            Ok(small) => Self(Repr::Small(small)),
            Err(_) => Self(Repr::Large(text.into())),
        }
    }

    /// The number of decimal digits.
    pub(crate) fn digits(&self) -> usize {
        match &self.0 {
            Repr::Small(small) => small.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1,
            Repr::Large(digits) => digits.trim_start_matches('-').len(),
        }
    }

    pub(crate) fn to_big(&self) -> BigInt {
        match &self.0 {
            Repr::Small(small) => BigInt::from(*small),
            // Digits always parse.
            Repr::Large(digits) => digits.parse().unwrap_or_default(),
        }
    }

    pub(crate) fn write_to(&self, out: &mut String) {
        match &self.0 {
            Repr::Small(small) => out.push_str(itoa::Buffer::new().format(*small)),
            Repr::Large(digits) => out.push_str(digits),
        }
    }
}

impl From<BigInt> for Integer {
    fn from(big: BigInt) -> Self {
        Self(i64::try_from(&big).map_or_else(|_| Repr::Large(big.to_string().into()), Repr::Small))
    }
}

macro_rules! from {
    ($($type:ty)*) => {$(
        impl From<$type> for Integer {
            fn from(number: $type) -> Self {
                match i64::try_from(number) {
                    Ok(small) => Self(Repr::Small(small)),
                    Err(_) => Self(Repr::Large(number.to_string().into())),
                }
            }
        }

        /// Fails if the integer is out of the range of the type.
        impl TryFrom<&Integer> for $type {
            type Error = Error;

            fn try_from(integer: &Integer) -> Result<Self, Error> {
                let found = match &integer.0 {
                    Repr::Small(small) => Self::try_from(*small).ok(),
                    Repr::Large(digits) => digits.parse().ok(),
                };
                let range = stringify!($type);
                found.ok_or_else(|| Error::from(Reason::OutOfRange { range }))
            }
        }
    )*};
}

from!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(this), Repr::Small(other)) => this.cmp(other),
            // Large integers are further from zero than small ones.
            (Repr::Small(_), Repr::Large(other)) => match other.starts_with('-') {
                true => Ordering::Greater,
                false => Ordering::Less,
            },
            (Repr::Large(_), Repr::Small(_)) => other.cmp(self).reverse(),
            (Repr::Large(this), Repr::Large(other)) => {
                match (this.strip_prefix('-'), other.strip_prefix('-')) {
                    (None, None) => compare_digits(this, other),
                    (Some(this), Some(other)) => compare_digits(other, this),
                    (this, other) => other.is_some().cmp(&this.is_some()),
                }
            }
        }
    }
}

/// Compares digits without leading zeros, by length and then as text.
fn compare_digits(a: &str, b: &str) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Parses decimal digits with an optional sign.
impl FromStr for Integer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::from(Reason::number(text)));
        }
        Ok(Self::from_digits(text.starts_with('-'), digits))
    }
}

/// Formats decimal digits, without the suffix `N` of integers over 64 bits in EDN.
impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(small) => small.fmt(f),
            Repr::Large(digits) => f.write_str(digits),
        }
    }
}

impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
