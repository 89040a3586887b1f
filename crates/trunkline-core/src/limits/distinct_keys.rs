use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// A JSON value without duplicate keys, at any depth.
///
/// Parsers disagree on duplicate keys, so that a check could see another value than the handler.
///
/// ```
/// # use trunkline::limits::DistinctKeys;
/// let error = serde_json::from_str::<DistinctKeys>(r#"{"age": {"gt": 100, "gt": 1}}"#).unwrap_err();
/// assert!(error.to_string().starts_with("duplicate key `gt`"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DistinctKeys(pub Value);

impl DistinctKeys {
    /// Deserializes an object, for `#[serde(deserialize_with = "DistinctKeys::object")]`.
    ///
    /// # Errors
    /// For a duplicate key, or a value that is not an object.
    pub fn object<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Map<String, Value>, D::Error> {
        Self::optional_object(deserializer)?.ok_or_else(|| D::Error::custom(EXPECTED))
    }

    /// Deserializes an object or `null`, for
    /// `#[serde(default, deserialize_with = "DistinctKeys::optional_object")]`.
    ///
    /// # Errors
    /// For a duplicate key, or a value that is neither an object nor `null`.
    pub fn optional_object<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Map<String, Value>>, D::Error> {
        match Self::deserialize(deserializer)?.0 {
            Value::Object(object) => Ok(Some(object)),
            Value::Null => Ok(None),
            _ => Err(D::Error::custom(EXPECTED)),
        }
    }
}

const EXPECTED: &str = "expected an object";

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

/// The number that a map is, for visitors of any JSON value: with the feature `arbitrary_precision` of `serde_json`, a
/// number with a fraction or an exponent, or beyond 64 bits, is a map of one member. `key` is the key of the first one.
///
/// The feature is enabled here if any crate of an application enables it. `None` for other maps, and without the feature.
///
/// # Errors
/// When the value of the member is not a number.
pub fn exact_number<'de, A: MapAccess<'de>>(
    key: &str,
    members: &mut A,
) -> Result<Option<Number>, A::Error> {
    const KEY: &str = "$serde_json::private::Number";
    // With the feature, numbers keep their digits.
    let is_enabled = || "0.10".parse::<Number>().is_ok_and(|number| number.to_string() == "0.10");
    if key != KEY || !is_enabled() {
        return Ok(None);
    }
    let digits = members.next_value::<String>()?;
    digits.parse().map(Some).map_err(A::Error::custom)
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(DistinctKeys(value)) = elements.next_element()? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.is_empty()
                && let Some(number) = exact_number(&key, &mut members)?
            {
                return Ok(Value::Number(number));
            }
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let DistinctKeys(value) = members.next_value()?;
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::DistinctKeys;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        match (serde_json::from_str::<DistinctKeys>(json), expected) {
            (Ok(DistinctKeys(value)), None) => {
                assert_eq!(value, serde_json::from_str::<serde_json::Value>(json).unwrap());
            }
            (outcome, expected) => {
                let error = outcome.err().map(|error| error.to_string());
                assert_eq!(error.as_deref(), expected, "{json}");
            }
        }
    }

    #[test]
    fn rejects_duplicate_keys_at_every_depth() {
        check(
            r#"{"a":{"a":[{"a":1},{"a":-1.5}]},"b":["a","a",null,true,18446744073709551615]}"#,
            None,
        );
        check("123456789012345678901234567890", None);
        check(r#"{"$serde_json::private::Number":"1"}"#, None);
        check(r#"{"$serde_json::private::Number":[{"a":0.5}]}"#, None);
        check(r#"{"a":1,"a":1}"#, Some("duplicate key `a` at line 1 column 10"));
        check(r#"[{"b":{"a":1,"\u0061":2}}]"#, Some("duplicate key `a` at line 1 column 21"));
    }
}
