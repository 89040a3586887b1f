use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An object that has no member twice: one of them would be lost.
pub(super) struct Object(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} stands twice")));
            }
            members.insert(name, value);
        }
        Ok(Object(members))
    }
}
