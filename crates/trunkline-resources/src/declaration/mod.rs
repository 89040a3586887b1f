//! What resources there are, and what their records hold.

mod error;
mod field;
mod file;
mod nearest;
mod resource_type;
mod sameness;
mod schema;
#[cfg(test)]
mod tests;
mod verb;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use error::TypesError;
pub use field::{Field, FieldType};
pub use resource_type::ResourceType;
pub use verb::Verb;

pub(crate) use sameness::same;

/// All resource types of a server, by name, in the order of their declaration.
///
/// They are declared in TOML. The [default](Self::default) is this:
///
/// ```toml
#[doc = include_str!("default.toml")]
/// ```
///
/// A resource's name is of letters, digits, `_` and `-`, and begins with a letter; one with namespaces
/// stands in quotes: `[resources."crm.todo".fields]`. A field has a `type`, one of `string`, `integer`,
/// `number`, `boolean`, `object` and `array`, and it may have:
///
/// * `required = true`: every record has it.
/// * `default`: what a record has that was created without it.
/// * `enum`: the values that it may have.
/// * `description`: what people and language models are told of it.
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

    /// The types that a file's text declares.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(toml: &str) -> Result<Self, TypesError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        file::types(toml).map_err(|fault| fault.in_text(toml))
    }

    /// The types that a file of at most [`MAX_BYTES`](Self::MAX_BYTES) declares.
    ///
    /// # Errors
    /// If the file cannot be read; its first fault, with its place.
    pub fn read(path: &Path) -> Result<Self, TypesError> {
        let unreadable = |source| TypesError::Unreadable { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        // One byte more than may be, which tells a file that is too large.
        let bound = Self::MAX_BYTES as u64 + 1;
        File::open(path)
            .and_then(|file| file.take(bound).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        if bytes.len() > Self::MAX_BYTES {
            return Err(TypesError::TooLarge { file: path.to_owned() });
        }
        file::text(&bytes).and_then(Self::parse).map_err(|error| error.in_file(path))
    }

    /// The type of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        self.types.get(*self.index.get(name)?)
    }

    /// All of them, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.iter()
    }

    /// TOML cannot name two of them alike.
    fn new(types: Vec<ResourceType>) -> Self {
        let names = types.iter().map(|one| one.name().to_owned());
        let index = names.zip(0..).collect();
        Self { types, index }
    }
}

impl Default for ResourceTypes {
    /// The one type `todo`.
    fn default() -> Self {
        Self::parse(include_str!("default.toml")).expect("a test parses this very file")
    }
}
