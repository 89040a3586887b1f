use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::ErrorObject;

use super::fault;
use crate::excerpt::excerpt;

/// The members of an object, with unparsed values. Duplicate names are rejected.
#[derive(Default)]
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Removes and returns a member; null counts as missing.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.0.swap_remove(place);
        (value.get() != "null").then_some(value)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// A duplicate name.
    fn duplicate(&self) -> Option<&str> {
        let mut known = HashSet::with_capacity(self.0.len());
        self.names().find(|name| !known.insert(*name))
    }

    /// Parses the remaining members. `pointer` is the place of the object.
    pub(super) fn into_map(self, pointer: &str) -> Result<Map<String, Value>, ErrorObject> {
        let mut map = Map::new();
        for (name, value) in self.0 {
            let value = serde_json::from_str(value.get()).map_err(|error| {
                let reason = format!("{}: {}", excerpt(&name), fault::without_place(&error));
                fault::invalid(&fault::pointer(pointer, &name), &reason)
            })?;
            map.insert(name, value);
        }
        Ok(map)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(member) = map.next_entry::<String, &RawValue>()? {
            members.0.push(member);
        }
        match members.duplicate() {
            Some(name) => {
                Err(A::Error::custom(format_args!("duplicate member {:?}", excerpt(name))))
            }
            None => Ok(members),
        }
    }
}

/// Reads the members of a part of a message that must be an object.
pub(super) fn members<'a>(
    pointer: &str,
    name: &str,
    json: &'a RawValue,
) -> Result<Members<'a>, ErrorObject> {
    if !json.get().starts_with('{') {
        return Err(fault::invalid(pointer, &format!("{name} must be an object")));
    }
    serde_json::from_str(json.get()).map_err(|error| {
        fault::invalid(pointer, &format!("{name}: {}", fault::without_place(&error)))
    })
}
