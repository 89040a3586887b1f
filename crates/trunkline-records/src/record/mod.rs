//! Stored records as their types declare them.

mod criteria;
mod fields;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::command::RecordId;
use crate::declaration::{Field, RecordType, json_equal};
use crate::error::Error;
use crate::store::Row;

pub(crate) use criteria::Criteria;
pub(crate) use fields::{created, merged};

/// A stored record with its type: the declared fields in their order, with the defaults of missing ones. Fields that
/// the type no longer declares stay in the store and are hidden.
///
/// Serialises to `{"id", fields…, "version", "createdAt", "updatedAt"}`.
pub(crate) struct Record<'a> {
    kind: &'a RecordType,
    id: &'a str,
    row: &'a Row,
    fields: Map<String, Value>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(kind: &'a RecordType, id: &'a str, row: &'a Row) -> Result<Self, Error> {
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

    /// Whether a record with these fields would serialise to the same values.
    pub(crate) fn has_fields(&self, fields: &Map<String, Value>) -> bool {
        self.kind.fields().iter().map(Field::name).all(|name| match fields.get(name) {
            Some(value) => self.field(name).is_some_and(|own| json_equal(own, value)),
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
pub(crate) fn text(kind: &RecordType, id: &RecordId, row: &Row) -> Result<String, Error> {
    Ok(json(&Record::new(kind, id.as_str(), row)?))
}

/// The JSON text of a value of this crate, all of which can be serialised.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("maps with string keys serialise into memory")
}

/// RFC 3339, in UTC, with milliseconds.
fn rfc3339(milliseconds: i64) -> String {
    let last = if milliseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(last);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(milliseconds: i64, expected: &str) {
        assert_eq!(super::rfc3339(milliseconds), expected);
    }

    #[test]
    fn times_have_milliseconds_and_are_in_utc() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(1, "1970-01-01T00:00:00.001Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        check(1_795_346_025_123, "2026-11-22T11:13:45.123Z");
        check(1_709_208_000_500, "2024-02-29T12:00:00.500Z");
    }

    #[test]
    fn out_of_range_times_are_clamped() {
        check(i64::MAX, "9999-12-30T22:00:00.999Z");
        check(i64::MIN, "-009999-01-02T01:59:59.000Z");
    }
}
