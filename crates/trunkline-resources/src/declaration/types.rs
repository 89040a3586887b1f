use std::collections::HashMap;
use std::sync::Arc;

use super::field::Field;

/// All resource types of a server, by name, in the order of their declaration.
///
/// They are declared in TOML. The [default](Self::default) is this:
///
/// ```toml
#[doc = include_str!("default.toml")]
/// ```
///
/// A resource's name is of letters, digits, `_` and `-`, and begins with a letter; one with namespaces
/// is in quotes: `[resources."crm.todo".fields]`. A field has a `type`, one of `string`, `integer`,
/// `number`, `boolean`, `object` and `array`, and it may have:
///
/// * `required = true`: every record has it.
/// * `default`: what a record has that was created without it.
/// * `enum`: the values that it may have.
/// * `description`: its description for people and language models.
///
/// Every record has an `id`, a `version`, `createdAt` and `updatedAt` besides, and `metadata` goes along with
/// commands: no field is called so.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceTypes {
    types: Vec<ResourceType>,
    index: HashMap<String, usize>,
}

impl ResourceTypes {
    /// Most bytes of a file of types.
    pub const MAX_BYTES: usize = 1 << 20;
    /// Most types of a server.
    pub const MAX_TYPES: usize = 100;

    /// The type of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        self.types.get(*self.index.get(name)?)
    }

    /// All of them, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.iter()
    }

    /// TOML cannot name two of them alike.
    pub(super) fn new(types: Vec<ResourceType>) -> Self {
        let names = types.iter().map(|one| one.name().to_owned());
        let index = names.zip(0..).collect();
        Self { types, index }
    }
}

/// A kind of record: its name and its fields. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceType(Arc<Declaration>);

#[derive(Debug, PartialEq)]
struct Declaration {
    name: String,
    description: Option<String>,
    fields: Vec<Field>,
}

impl ResourceType {
    /// Most bytes of its name.
    pub const MAX_NAME: usize = 64;
    /// Most fields of a type.
    pub const MAX_FIELDS: usize = 200;

    pub(super) fn new(name: String, description: Option<String>, fields: Vec<Field>) -> Self {
        Self(Arc::new(Declaration { name, description, fields }))
    }

    /// Its name: `todo`, or with namespaces, `crm.todo`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The description of its records, if declared.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// Its fields, in the order of their declaration. There is at least one.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The field of this name, if there is one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name() == name)
    }

    /// The field whose name is nearest to one that no field has, if one is near.
    pub(crate) fn nearest_field(&self, name: &str) -> Option<&Field> {
        self.field(nearest_name(name, self.fields().iter().map(Field::name))?)
    }
}

/// Longer names are not compared: the cost grows with the square of the length.
const MAX_COMPARED: usize = 64;

/// The known name that is nearest to an unknown one, if about two letters of three match, in any case.
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
    fn check(wanted: &str, expected: Option<&str>) {
        let known = ["string", "integer", "number", "boolean", "object", "array"];
        assert_eq!(super::nearest_name(wanted, known.into_iter()), expected, "{wanted}");
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
