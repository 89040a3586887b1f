//! The declared types of resources, and their JSON Schemas.

mod equality;
mod error;
mod field;
mod file;
mod nearest;
mod schema;
#[cfg(test)]
mod tests;
mod types;
mod verb;

pub use error::TypesError;
pub use field::{Field, FieldType};
pub use types::{ResourceType, ResourceTypes};
pub use verb::Verb;

pub(crate) use equality::json_equal;
