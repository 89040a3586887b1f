//! Deserialising objects whose keys differ. Of two equal keys most readers take the last one, and a change
//! would then reach other rows than the one who wrote it thinks.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

/// For `#[serde(deserialize_with = …)]`.
pub(crate) fn required<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Json>, D::Error> {
    deserializer.deserialize_map(DistinctKeys)
}

/// For `#[serde(default, deserialize_with = …)]`. `null` is no object.
pub(crate) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Json>>, D::Error> {
    #[derive(Deserialize)]
    struct Object(#[serde(deserialize_with = "required")] Map<String, Json>);
    Ok(Option::<Object>::deserialize(deserializer)?.map(|object| object.0))
}

struct DistinctKeys;

impl<'de> Visitor<'de> for DistinctKeys {
    type Value = Map<String, Json>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("column {key:?} stands twice")));
            }
            object.insert(key, value);
        }
        Ok(object)
    }
}
