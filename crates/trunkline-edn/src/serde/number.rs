//! How numbers are shown to what takes whatever there is: as numbers that tell them, else as text.
//!
//! What serde keeps for later knows 64 bits, and a type of ours that is made of them has to be the number
//! that stood there.

use serde::de::Visitor;

use crate::error::Error;
use crate::value::{Decimal, Integer, Ratio};

pub(super) fn visit_integer<'de, V: Visitor<'de>>(
    integer: &Integer,
    visitor: V,
) -> Result<V::Value, Error> {
    if let Some(number) = integer.as_i64() {
        visitor.visit_i64(number)
    } else if let Ok(number) = u64::try_from(integer) {
        visitor.visit_u64(number)
    } else {
        visitor.visit_string(integer.to_string())
    }
}

/// Of a float, the shortest decimal is known again.
pub(super) fn visit_decimal<'de, V: Visitor<'de>>(
    decimal: &Decimal,
    visitor: V,
) -> Result<V::Value, Error> {
    let float = decimal.to_f64();
    if Decimal::of_f64(float).as_ref() == Some(decimal) {
        visitor.visit_f64(float)
    } else {
        visitor.visit_string(decimal.to_string())
    }
}

/// Of a float, the simplest ratio is known again.
pub(super) fn visit_ratio<'de, V: Visitor<'de>>(
    ratio: &Ratio,
    visitor: V,
) -> Result<V::Value, Error> {
    let float = ratio.to_f64();
    if Ratio::of_f64(float).as_ref() == Some(ratio) {
        visitor.visit_f64(float)
    } else {
        visitor.visit_string(ratio.to_string())
    }
}
