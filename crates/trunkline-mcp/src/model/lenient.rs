//! Deviations from the specification that are accepted. Hints about the display and the use are treated as absent
//! if they are malformed; members with a meaning may be null instead of absent, and nothing else.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A member that may be null.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A hint, which is absent if it is malformed.
pub(super) fn hint<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// `_meta`, which is empty if it is malformed. A module for `serde(with)`.
pub(super) mod meta {
    use serde::{Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Map<String, Value>, D::Error> {
        super::hint(deserializer)
    }

    pub(crate) fn serialize<S: Serializer>(
        meta: &Map<String, Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        meta.serialize(serializer)
    }
}

/// The elements of a list of hints that are well-formed.
pub(super) fn hints<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Array(values) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

/// A number that is not negative, which may be written as a fraction. Others are absent.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    let rounded =
        |number: f64| (0.0..2_f64.powi(64)).contains(&number).then_some(number.ceil() as u64);
    Ok(value.as_u64().or_else(|| value.as_f64().and_then(rounded)))
}
