//! Equality of JSON values.

use serde_json::{Number, Value};

/// Whether two values are equal in JSON Schema (2020-12 core, 4.2.2): numbers by their mathematical value, so that 1
/// equals 1.0.
pub(crate) fn json_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| json_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let found =
                |(name, value)| right.get(name).is_some_and(|other| json_equal(value, other));
            left.len() == right.len() && left.iter().all(found)
        }
        _ => left == right,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.as_f64() == right.as_f64(),
        (Some(whole), None) => is_whole(right, whole),
        (None, Some(whole)) => is_whole(left, whole),
    }
}

/// Compares without converting the integer to f64, which would round large ones.
fn is_whole(fraction: &Number, whole: i128) -> bool {
    let fraction = fraction.as_f64().filter(|fraction| fraction.fract() == 0.0);
    fraction.is_some_and(|fraction| fraction as i128 == whole)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[track_caller]
    fn check(left: &str, right: &str, expected: bool) {
        let [left, right]: [Value; 2] =
            [left, right].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(super::json_equal(&left, &right), expected, "{left} {right}");
        assert_eq!(super::json_equal(&right, &left), expected, "{right} {left}");
    }

    #[test]
    fn numbers_are_compared_by_value() {
        check("1", "1.0", true);
        check("0", "-0.0", true);
        check("1.5", "1.5", true);
        check("1", "1.5", false);
        check("9007199254740993", "9007199254740992.0", false);
        check("9007199254740992", "9007199254740992.0", true);
        check("18446744073709551615", "-1", false);
        check("18446744073709551615", "18446744073709551616.0", false);
        check("1e300", "1", false);
        check("1", "true", false);
    }

    #[test]
    fn elements_and_members_are_compared() {
        check("[1, \"a\"]", "[1.0, \"a\"]", true);
        check("[1]", "[1, 1]", false);
        check(r#"{"a": 1, "b": null}"#, r#"{"b": null, "a": 1.0}"#, true);
        check(r#"{"a": 1}"#, r#"{"b": 1}"#, false);
        check(r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#, false);
        check("\"a\"", "\"A\"", false);
    }
}
