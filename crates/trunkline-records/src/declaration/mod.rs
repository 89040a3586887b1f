//! The declared types of records, and their JSON Schemas.

mod equality;
mod field;
mod file;
mod schema;
#[cfg(test)]
mod tests;
mod types;
mod verb;

pub use field::{Field, FieldType};
pub use file::TypesError;
pub use types::{RecordType, RecordTypes};
pub use verb::Verb;

pub(crate) use equality::json_equal;
