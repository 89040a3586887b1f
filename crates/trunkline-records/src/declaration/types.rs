use std::collections::HashMap;
use std::sync::Arc;

use super::field::Field;

/// The record types of a server, in the order of their declaration.
///
/// The types are declared in TOML. The [default](Self::default) is:
///
/// ```toml
#[doc = include_str!("default.toml")]
/// ```
///
/// A name consists of letters, digits, `_` and `-`, and starts with a letter. A name with namespaces is quoted:
/// `[records."crm.todo".fields]`. A field has a `type` (`string`, `integer`, `number`, `boolean`, `object` or
/// `array`), and optionally:
///
/// * `required = true`: every record must have the field.
/// * `default`: the value of records that were created without the field.
/// * `enum`: the allowed values.
/// * `description`: a description for people and language models.
///
/// Every record also has `id`, `version`, `createdAt` and `updatedAt`, and commands have `metadata`. These names are
/// reserved.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordTypes {
    types: Vec<RecordType>,
    index: HashMap<String, usize>,
}

impl RecordTypes {
    /// Maximum size of a file in bytes.
    pub const MAX_BYTES: usize = 1 << 20;
    /// Maximum number of types.
    pub const MAX_TYPES: usize = 100;

    /// Returns the type with this name.
    pub fn get(&self, name: &str) -> Option<&RecordType> {
        self.types.get(*self.index.get(name)?)
    }

    /// All types, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &RecordType> {
        self.types.iter()
    }

    /// The names are unique: TOML rejects duplicate keys.
    pub(super) fn new(types: Vec<RecordType>) -> Self {
        let names = types.iter().map(|one| one.name().to_owned());
        let index = names.zip(0..).collect();
        Self { types, index }
    }
}

/// A record type: its name and its fields. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordType(Arc<Declaration>);

#[derive(Debug, PartialEq)]
struct Declaration {
    name: String,
    description: Option<String>,
    fields: Vec<Field>,
}

impl RecordType {
    /// Maximum length of a name in bytes.
    pub const MAX_NAME: usize = 64;
    /// Maximum number of fields.
    pub const MAX_FIELDS: usize = 200;

    pub(super) fn new(name: String, description: Option<String>, fields: Vec<Field>) -> Self {
        Self(Arc::new(Declaration { name, description, fields }))
    }

    /// The name: `todo`, or with a namespace, `crm.todo`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The declared description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The fields, in the order of their declaration. There is at least one.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// Returns the field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name() == name)
    }

    /// The field whose name is similar to an unknown name.
    pub(crate) fn nearest_field(&self, name: &str) -> Option<&Field> {
        self.field(nearest_name(name, self.fields().iter().map(Field::name))?)
    }
}

/// Maximum length of compared names, since the cost is quadratic.
const MAX_COMPARED: usize = 64;

/// The known name that is nearest to an unknown one, if about two thirds of the letters match, ignoring case.
fn nearest_name<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let distance =
        |known: &str| strsim::levenshtein(&name.to_ascii_lowercase(), &known.to_ascii_lowercase());
    let (_, nearest) = known
        .filter(|known| name.len().max(known.len()) <= MAX_COMPARED)
        .map(|known| (distance(known), known))
        .filter(|(distance, _)| *distance <= name.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)?;
    Some(nearest)
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        let known = ["string", "integer", "number", "boolean", "object", "array"];
        assert_eq!(super::nearest_name(name, known.into_iter()), expected, "{name}");
    }

    #[test]
    fn near_names_are_suggested() {
        check("strng", Some("string"));
        check("String", Some("string"));
        check("int", None);
        check("nubmer", Some("number"));
        check("arrays", Some("array"));
        check("date", None);
        check("ärray", Some("array"));
        check("", None);
        check(&"x".repeat(65), None);
    }
}
