//! Conversion of payloads to the fields of a record.

use serde_json::{Map, Value};

use crate::declaration::{Field, RecordType};
use crate::error::Error;
use crate::excerpt::excerpt;

/// The fields of a new record.
pub(crate) fn created(
    kind: &RecordType,
    payload: Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    let mut fields = Map::new();
    for (name, value) in payload {
        let field = declared(kind, &name)?;
        if !value.is_null() {
            check(field, &value)?;
            fields.insert(name, value);
        }
    }
    complete(kind, fields)
}

/// The fields of a record after an update, which replaces the given fields. Null removes a field, or resets it to its
/// default.
pub(crate) fn merged(
    kind: &RecordType,
    mut fields: Map<String, Value>,
    payload: Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    for (name, value) in payload {
        let field = declared(kind, &name)?;
        if value.is_null() {
            fields.remove(&name);
        } else {
            check(field, &value)?;
            fields.insert(name, value);
        }
    }
    complete(kind, fields)
}

/// Adds the defaults of missing fields.
fn complete(
    kind: &RecordType,
    mut fields: Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    for field in kind.fields() {
        if fields.contains_key(field.name()) {
            continue;
        }
        if field.required() {
            return Err(invalid(field.name(), format!("{} is required", field.name())));
        }
        if let Some(default) = field.default() {
            fields.insert(field.name().to_owned(), default.clone());
        }
    }
    Ok(fields)
}

fn declared<'a>(kind: &'a RecordType, name: &str) -> Result<&'a Field, Error> {
    kind.field(name).ok_or_else(|| {
        let reason = match name {
            "version" => {
                "version is set by the server; to expect a version, send metadata.ifVersion".into()
            }
            "createdAt" | "updatedAt" => format!("{name} is set by the server; remove it"),
            name => unknown(kind, name),
        };
        invalid(name, reason)
    })
}

fn unknown(kind: &RecordType, name: &str) -> String {
    let problem = format!("{} has no field {:?}", kind.name(), excerpt(name));
    match kind.nearest_field(name) {
        Some(field) => format!("{problem}; did you mean {}?", field.name()),
        None => {
            let names: Vec<&str> = kind.fields().iter().map(Field::name).collect();
            format!("{problem}; its fields are {}", names.join(", "))
        }
    }
}

fn check(field: &Field, value: &Value) -> Result<(), Error> {
    field.check(value).map_err(|reason| invalid(field.name(), reason))
}

fn invalid(name: &str, reason: String) -> Error {
    Error::invalid(&[name], reason)
}
