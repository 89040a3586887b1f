//! The order and the divisibility of numbers, without rounding, and the order of JSON values that follows from it.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// A total order of JSON values, in which equal values are those of JSON Schema: 1 equals 1.0, and the order of
/// members does not matter.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let elements = left.iter().zip(right).map(|(left, right)| compare(left, right));
            left.len().cmp(&right.len()).then_with(|| first_difference(elements))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len().cmp(&right.len()).then_with(|| compare_members(left, right))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_members(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    // The order of a map depends on the features of serde_json.
    let sorted = |members| {
        let mut members: Vec<(&String, &Value)> = Map::iter(members).collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        members
    };
    let pairs = sorted(left).into_iter().zip(sorted(right));
    first_difference(pairs.map(|((name, value), (other_name, other))| {
        name.cmp(other_name).then_with(|| compare(value, other))
    }))
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// The number of values in a value, including itself.
pub(super) fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}

/// The order of two numbers.
pub(super) fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_mixed(left, float(right)),
        (None, Some(right)) => compare_mixed(right, float(left)).reverse(),
        (None, None) => float(left).total_cmp(&float(right)),
    }
}

/// An integer of 64 bits and a finite float.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    // The cast is exact below 2^127, and saturates above.
    integer.cmp(&(float.trunc() as i128)).then_with(|| 0.0_f64.total_cmp(&float.fract()))
}

/// An integer of 64 bits.
fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The value of a number that is not an integer of 64 bits.
fn float(number: &Number) -> f64 {
    // Plus zero for minus zero.
    number.as_f64().unwrap_or(f64::NAN) + 0.0
}

/// Whether a number is an integer, in any notation: 1.0 is.
pub(super) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || float(number).fract() == 0.0
}

/// Whether a number is a multiple of a positive one. Floats are taken as the decimals that are written for them: 0.3 is
/// a multiple of 0.1.
pub(super) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    let (Some((digits, exponent)), Some((divisor, divisor_exponent))) =
        (decimal(number), decimal(divisor))
    else {
        return false;
    };
    if digits == 0 {
        return true;
    }
    match u32::try_from(exponent - divisor_exponent) {
        // Both factors of the remainder are below the divisor, which has 64 bits.
        Ok(shift) => (digits % divisor * power_of_ten(shift, divisor)).is_multiple_of(divisor),
        Err(_) => {
            let shift = exponent.abs_diff(divisor_exponent);
            let scaled = 10_u128.checked_pow(shift).and_then(|power| power.checked_mul(divisor));
            scaled.is_some_and(|divisor| digits.is_multiple_of(divisor))
        }
    }
}

/// The digits of the absolute value, at most 64 bits, and the power of ten that they are multiplied by.
fn decimal(number: &Number) -> Option<(u128, i32)> {
    if let Some(integer) = integer(number) {
        return Some((integer.unsigned_abs(), 0));
    }
    let text = format!("{:e}", float(number).abs());
    let (digits, exponent) = text.split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
    Some((format!("{whole}{fraction}").parse().ok()?, exponent))
}

/// 10^exponent modulo a number of 64 bits.
fn power_of_ten(exponent: u32, modulus: u128) -> u128 {
    let (mut power, mut base, mut exponent) = (1 % modulus, 10 % modulus, exponent);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    power
}
