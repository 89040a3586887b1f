//! The fields of a record, from a payload.

use serde_json::{Map, Value};

use crate::declaration::{Field, ResourceType};
use crate::error::Error;
use crate::excerpt::excerpt;

/// The fields of a new record.
pub(crate) fn created(
    kind: &ResourceType,
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

/// The fields of a record after an update: those that were sent are replaced, and null takes one away
/// or puts its default back.
pub(crate) fn merged(
    kind: &ResourceType,
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

/// Fields with the defaults of those that are missing.
fn complete(
    kind: &ResourceType,
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

fn declared<'a>(kind: &'a ResourceType, name: &str) -> Result<&'a Field, Error> {
    kind.field(name).ok_or_else(|| {
        let reason = match name {
            "version" => "version is the server's: to ask for one, send metadata.ifVersion".into(),
            "createdAt" | "updatedAt" => format!("{name} is the server's: leave it out"),
            name => unknown(kind, name),
        };
        invalid(name, reason)
    })
}

fn unknown(kind: &ResourceType, name: &str) -> String {
    let said = format!("{} has no field {:?}", kind.name(), excerpt(name));
    match kind.nearest_field(name) {
        Some(meant) => format!("{said}; did you mean {}?", meant.name()),
        None => {
            let names: Vec<&str> = kind.fields().iter().map(Field::name).collect();
            format!("{said}: it has {}", names.join(", "))
        }
    }
}

fn check(field: &Field, value: &Value) -> Result<(), Error> {
    field.check(value).map_err(|reason| invalid(field.name(), reason))
}

fn invalid(name: &str, reason: String) -> Error {
    Error::invalid(&[name], reason)
}
