use std::sync::Arc;

use super::Field;

/// A kind of record: what it is called, and what its records hold. A clone costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceType(Arc<Declared>);

#[derive(Debug, PartialEq)]
struct Declared {
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
        Self(Arc::new(Declared { name, description, fields }))
    }

    /// Its name: `todo`, or with namespaces, `crm.todo`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What its records are, if its file says so.
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
        self.field(super::nearest::to(name, self.fields().iter().map(Field::name))?)
    }
}
