//! A record: what is stored, seen through its type.

mod criteria;
mod fields;
mod time;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::command::RecordId;
use crate::declaration::{Field, ResourceType, json_equal};
use crate::error::Error;
use crate::store::Row;

pub(crate) use criteria::Criteria;
pub(crate) use fields::{created, merged};
pub(crate) use time::rfc3339;

/// A stored record as seen through its type: the declared fields in their order, with the defaults
/// of those that it has no value of. What the type does not declare any more stays stored, unseen.
///
/// Serialises to `{"id", fields…, "version", "createdAt", "updatedAt"}`.
pub(crate) struct Record<'a> {
    kind: &'a ResourceType,
    id: &'a str,
    row: &'a Row,
    fields: Map<String, Value>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(kind: &'a ResourceType, id: &'a str, row: &'a Row) -> Result<Self, Error> {
        let fields = serde_json::from_str(&row.fields).map_err(|_| {
            let (resource, id) = (kind.name().to_owned(), id.to_owned());
            Error::Corrupt { what: "record", resource, id }
        })?;
        Ok(Self { kind, id, row, fields })
    }

    /// The value of a declared field.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        let field = self.kind.field(name)?;
        self.fields.get(name).or_else(|| field.default())
    }

    /// The stored values.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Whether a record with these values would show what it shows.
    pub(crate) fn shows(&self, fields: &Map<String, Value>) -> bool {
        self.kind.fields().iter().map(Field::name).all(|name| match fields.get(name) {
            Some(value) => self.field(name).is_some_and(|shown| json_equal(shown, value)),
            None => self.field(name).is_none(),
        })
    }

    /// The value that a criterion of this name is compared with.
    fn property(&self, name: &str) -> Option<Value> {
        match name {
            "id" => Some(self.id.into()),
            "version" => Some(self.row.version.into()),
            "createdAt" => Some(rfc3339(self.row.created_at).into()),
            "updatedAt" => Some(rfc3339(self.row.updated_at).into()),
            name => self.field(name).cloned(),
        }
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", self.id)?;
        for field in self.kind.fields() {
            if let Some(value) = self.field(field.name()) {
                map.serialize_entry(field.name(), value)?;
            }
        }
        map.serialize_entry("version", &self.row.version)?;
        map.serialize_entry("createdAt", &rfc3339(self.row.created_at))?;
        map.serialize_entry("updatedAt", &rfc3339(self.row.updated_at))?;
        map.end()
    }
}

/// The JSON text of a stored record.
pub(crate) fn text(kind: &ResourceType, id: &RecordId, row: &Row) -> Result<String, Error> {
    Ok(json(&Record::new(kind, id.as_str(), row)?))
}

/// The JSON text of what is made here, of which everything serialises.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("maps with string keys serialise into memory")
}
