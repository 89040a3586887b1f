//! Parsing of type declarations in TOML.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::equality::json_equal;
use super::field::{Field, FieldType};
use super::types::{RecordType, RecordTypes};

/// An error in a file or text that declares types.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// The file could not be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is larger than [`RecordTypes::MAX_BYTES`].
    #[error("{} is larger than {} bytes", file.display(), RecordTypes::MAX_BYTES)]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// The text is invalid.
    #[error("{}{line}:{column}: {reason}", file.as_ref().map(|file| format!("{}:", file.display())).unwrap_or_default())]
    Invalid {
        /// The file, if the text was read from one.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The error message.
        reason: String,
    },
}

/// Names that fields cannot have.
const RESERVED: [&str; 5] = ["id", "metadata", "version", "createdAt", "updatedAt"];

/// An error and its byte offset in the text.
struct Fault {
    at: usize,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    records: IndexMap<Spanned<String>, Declared>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    description: Option<String>,
    fields: IndexMap<Spanned<String>, Declaration>,
}

/// A field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    #[serde(rename = "type")]
    kind: FieldType,
    #[serde(default)]
    required: bool,
    default: Option<Spanned<Value>>,
    #[serde(rename = "enum")]
    allowed: Option<Spanned<Vec<Spanned<Value>>>>,
    description: Option<String>,
}

impl RecordTypes {
    /// Parses type declarations.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(toml: &str) -> Result<Self, TypesError> {
        Self::of(toml, None)
    }

    /// Reads a file of type declarations, of up to [`MAX_BYTES`](Self::MAX_BYTES).
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid.
    pub fn read(path: &Path) -> Result<Self, TypesError> {
        let unreadable = |source| TypesError::Unreadable { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        // One more byte than the maximum detects files that are too large.
        let bound = Self::MAX_BYTES as u64 + 1;
        File::open(path)
            .and_then(|file| file.take(bound).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        if bytes.len() > Self::MAX_BYTES {
            return Err(TypesError::TooLarge { file: path.to_owned() });
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| unreadable(io::Error::new(ErrorKind::InvalidData, error)))?;
        Self::of(&text, Some(path))
    }

    fn of(toml: &str, file: Option<&Path>) -> Result<Self, TypesError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        types(toml).map_err(|Fault { at, reason }| {
            let before = toml.get(..at).unwrap_or(toml);
            let line = before.rsplit('\n').next().unwrap_or_default();
            TypesError::Invalid {
                file: file.map(Path::to_owned),
                line: before.matches('\n').count() + 1,
                column: line.chars().count() + 1,
                reason,
            }
        })
    }
}

impl Default for RecordTypes {
    /// The type `todo`.
    fn default() -> Self {
        Self::parse(include_str!("../default.toml")).expect("the default types are tested")
    }
}

fn types(text: &str) -> Result<RecordTypes, Fault> {
    let Document { records } = toml::from_str(text).map_err(|error| Fault {
        at: error.span().map_or(0, |span| span.start),
        reason: error.message().to_owned(),
    })?;
    if let Some((name, _)) = records.get_index(RecordTypes::MAX_TYPES) {
        let reason = format!("more than {} record types", RecordTypes::MAX_TYPES);
        return Err(fault(name, reason));
    }
    if records.is_empty() {
        let reason = "no record type is declared; add [records.NAME.fields]".to_owned();
        return Err(Fault { at: 0, reason });
    }
    let types: Result<_, Fault> = records.into_iter().map(record_type).collect();
    Ok(RecordTypes::new(types?))
}

fn fault<T>(place: &Spanned<T>, reason: impl Into<String>) -> Fault {
    Fault { at: place.span().start, reason: reason.into() }
}

fn record_type((name, one): (Spanned<String>, Declared)) -> Result<RecordType, Fault> {
    type_name(name.get_ref()).map_err(|reason| fault(&name, reason))?;
    if let Some((field, _)) = one.fields.get_index(RecordType::MAX_FIELDS) {
        let (name, most) = (name.get_ref(), RecordType::MAX_FIELDS);
        return Err(fault(field, format!("{name} has more than {most} fields")));
    }
    if one.fields.is_empty() {
        return Err(fault(&name, "a record type needs at least one field"));
    }
    let fields: Result<_, Fault> = one.fields.into_iter().map(field).collect();
    Ok(RecordType::new(name.into_inner(), one.description, fields?))
}

fn type_name(name: &str) -> Result<(), String> {
    let is_segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_ascii_alphabetic()) && segment.bytes().all(is_name_byte)
    };
    if name.len() > RecordType::MAX_NAME || !name.split('.').all(is_segment) {
        return Err(format!(
            "the name of a record type consists of up to {} ASCII letters, digits, _ and -, and starts with a letter; \
             namespaces end with a dot: \"crm.todo\"",
            RecordType::MAX_NAME
        ));
    }
    // The methods of such a type could not be registered (JSON-RPC 2.0, section 8).
    match name.split('.').next() {
        Some("rpc") => Err("names that start with the namespace rpc are reserved".to_owned()),
        _ => Ok(()),
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn field((name, one): (Spanned<String>, Declaration)) -> Result<Field, Fault> {
    let Declaration { kind, required, default, allowed, description } = one;
    field_name(name.get_ref()).map_err(|reason| fault(&name, reason))?;
    let name = name.into_inner();
    let mut field = Field { name, kind, required, default: None, allowed: None, description };
    field.allowed = allowed.map(|allowed| values(allowed, &field)).transpose()?;
    if let Some(default) = default {
        if required {
            return Err(fault(
                &default,
                "a required field cannot have a default; remove one of the two",
            ));
        }
        field.default = Some(value(default, &field)?);
    }
    Ok(field)
}

fn field_name(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    if name.len() > Field::MAX_NAME || !begins || !name.bytes().all(is_name_byte) {
        return Err(format!(
            "a field name consists of up to {} ASCII letters, digits, _ and -, and starts with a letter or _",
            Field::MAX_NAME
        ));
    }
    if RESERVED.contains(&name) {
        let reserved = RESERVED.join(", ");
        return Err(format!("reserved field name; the reserved names are {reserved}"));
    }
    Ok(())
}

/// The values of a field's `enum`.
fn values(allowed: Spanned<Vec<Spanned<Value>>>, field: &Field) -> Result<Vec<Value>, Fault> {
    if let Some(one) = allowed.get_ref().get(Field::MAX_VALUES) {
        return Err(fault(one, format!("an enum can have up to {} values", Field::MAX_VALUES)));
    }
    if allowed.get_ref().is_empty() {
        return Err(fault(
            &allowed,
            "an enum needs at least one value; add one, or remove the enum",
        ));
    }
    let mut values: Vec<Value> = Vec::new();
    for element in allowed.into_inner() {
        if values.iter().any(|one| json_equal(one, element.get_ref())) {
            return Err(fault(&element, "duplicate value"));
        }
        values.push(value(element, field)?);
    }
    Ok(values)
}

/// Checks that a field accepts a value.
fn value(value: Spanned<Value>, field: &Field) -> Result<Value, Fault> {
    if has_time(value.get_ref()) {
        let reason = "JSON has no dates and times; write a string";
        return Err(fault(&value, reason));
    }
    field.check(value.get_ref()).map_err(|reason| fault(&value, reason))?;
    Ok(value.into_inner())
}

/// Whether the value contains a date or a time, which TOML deserialises to an object with this member.
fn has_time(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_time),
        Value::Object(members) => {
            members.contains_key("$__toml_private_datetime") || members.values().any(has_time)
        }
        _ => false,
    }
}
