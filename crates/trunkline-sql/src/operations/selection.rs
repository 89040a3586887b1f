//! The argument `database` of operations on several databases.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use trunkline::Schema;

use crate::databases::Databases;

/// The name of the argument.
const DATABASE: &str = "database";

/// A request, and the name of its database. By position, requests have no name.
pub(super) struct Selection<T> {
    pub(super) database: Option<String>,
    pub(super) request: T,
}

/// Adds the argument to the schema of a request.
pub(super) fn with_database(schema: &Schema, databases: &Databases) -> Schema {
    let names: Vec<&str> = databases.iter().map(|(name, _)| name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    let member =
        json!({ "type": "string", "enum": names, "description": format!("Default {first}") });
    schema.clone().with_member(DATABASE, &member)
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Selection<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SelectionVisitor(PhantomData))
    }
}

struct SelectionVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for SelectionVisitor<T> {
    type Value = Selection<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut database = None;
        let request =
            T::deserialize(MapAccessDeserializer::new(Others { map, database: &mut database }))?;
        Ok(Selection { database, request })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let request = T::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(Selection { database: None, request })
    }
}

/// The arguments other than `database`.
struct Others<'d, A> {
    map: A,
    database: &'d mut Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut seed = Some(seed);
        while let Some(name) = self.map.next_key::<String>()? {
            if name != DATABASE {
                let seed = seed.take().expect("a key is read once");
                return seed.deserialize(serde::de::value::StringDeserializer::new(name)).map(Some);
            }
            let value = self.map.next_value::<Option<String>>()?;
            if self.database.is_some() {
                return Err(A::Error::duplicate_field(DATABASE));
            }
            *self.database = value;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
