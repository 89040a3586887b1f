//! Equality of values as in Clojure, and the hash that agrees with it.

use std::hash::{Hash, Hasher};

use super::Value;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::Ratio(a), Self::Ratio(b)) => a == b,
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Keyword(a), Self::Keyword(b)) => a == b,
            (Self::Inst(a), Self::Inst(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Set(a), Self::Set(b)) => a == b,
            (Self::Tagged(a), Self::Tagged(b)) => a == b,
            (a, b) => match (a.as_sequence(), b.as_sequence()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Nil => state.write_u8(0),
            Self::Bool(bool) => (1_u8, bool).hash(state),
            Self::Integer(integer) => (2_u8, integer).hash(state),
            Self::Float(float) => (3_u8, canonical(*float).to_bits()).hash(state),
            Self::Decimal(decimal) => (4_u8, decimal).hash(state),
            Self::Ratio(ratio) => (5_u8, ratio).hash(state),
            Self::Char(char) => (6_u8, char).hash(state),
            Self::String(string) => (7_u8, string).hash(state),
            Self::Symbol(symbol) => (8_u8, symbol).hash(state),
            Self::Keyword(keyword) => (9_u8, keyword).hash(state),
            Self::Inst(inst) => (10_u8, inst).hash(state),
            Self::Uuid(uuid) => (11_u8, uuid).hash(state),
            Self::Map(map) => (12_u8, map).hash(state),
            Self::Set(set) => (13_u8, set).hash(state),
            Self::Tagged(tagged) => (14_u8, tagged).hash(state),
            // Lists and vectors are equal.
            Self::List(list) => (15_u8, list).hash(state),
            Self::Vector(vector) => (15_u8, vector).hash(state),
        }
    }
}

/// The same number for equal numbers: for both zeros, and for every NaN.
fn canonical(float: f64) -> f64 {
    if float.is_nan() {
        f64::NAN
    } else if float == 0.0 {
        0.0
    } else {
        float
    }
}
