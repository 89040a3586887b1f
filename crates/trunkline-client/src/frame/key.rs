use std::collections::HashMap;
use std::fmt;

use trunkline_core::id::Id;

/// An id as a map key: equal for all representations of the same number or string.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// An integer.
    Number(i64),
    /// JSON text.
    Other(Box<str>),
}

/// The limit below which every integer has an exact floating-point representation (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Key {
    /// Creates a key from the JSON text of an id.
    pub fn of(raw: &str) -> Self {
        if let Ok(number) = raw.parse() {
            return Self::Number(number);
        }
        if let Ok(number) = raw.parse::<f64>() {
            return match number {
                _ if number.fract() == 0.0 && number.abs() < EXACT => Self::Number(number as i64),
                _ if number.is_finite() => Self::Other(number.to_string().into()),
                _ => Self::Other(raw.into()),
            };
        }
        match serde_json::from_str::<serde_json::Value>(raw) {
            Ok(value) if raw.contains('\\') => Self::Other(value.to_string().into()),
            _ => Self::Other(raw.into()),
        }
    }
}

impl Key {
    /// The key of the same integer in the other type: `"7"` for 7, and 7 for `"7"`. Some servers return the ids of calls
    /// like this.
    pub fn in_other_type(&self) -> Option<Self> {
        match self {
            Self::Number(number) => Some(Self::Other(format!("\"{number}\"").into())),
            Self::Other(text) => {
                let digits = text.strip_prefix('"')?.strip_suffix('"')?;
                let number = digits.parse::<i64>().ok()?;
                (number.to_string() == digits).then_some(Self::Number(number))
            }
        }
    }

    /// Returns the value of a map, under this key, or else [in the other type](Self::in_other_type).
    pub(crate) fn find_in<'m, V>(&self, map: &'m HashMap<Self, V>) -> Option<&'m V> {
        map.get(self).or_else(|| map.get(&self.in_other_type()?))
    }
}

impl From<&Id> for Key {
    fn from(id: &Id) -> Self {
        Self::of(id.as_raw())
    }
}

/// Displays the JSON text of the id.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(Key::of(one) == Key::of(other), same, "{one} and {other}");
    }

    #[test]
    fn normalizes_ids() {
        check("1", "1.0", true);
        check("1", "10e-1", true);
        check("1.5", "15e-1", true);
        check("1", "2", false);
        check("1", "\"1\"", false);
        check("\"a/b\"", r#""a\/b""#, true);
        check("\"a\"", "\"b\"", false);
        check("null", "null", true);
        check("null", "\"null\"", false);
        check("9007199254740993", "9007199254740992", false);
        check("1e400", "1e401", false);
    }

    #[track_caller]
    fn check_other(raw: &str, expected: Option<&str>) {
        assert_eq!(Key::of(raw).in_other_type(), expected.map(Key::of), "{raw}");
    }

    #[test]
    fn integers_have_two_types() {
        check_other("7", Some("\"7\""));
        check_other("7.0", Some("\"7\""));
        check_other("\"7\"", Some("7"));
        check_other("\"-7\"", Some("-7"));
        check_other("\"07\"", None);
        check_other("\"7.0\"", None);
        check_other("\"a\"", None);
        check_other("1.5", None);
        check_other("null", None);
    }
}
