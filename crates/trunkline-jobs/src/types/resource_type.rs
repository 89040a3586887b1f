use super::Field;

/// A kind of record: what it is called, and what its records hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceType {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) fields: Vec<Field>,
}

impl ResourceType {
    /// Most bytes of its name.
    pub const MAX_NAME: usize = 64;
    /// Most fields of a type.
    pub const MAX_FIELDS: usize = 200;

    /// Its name: `todo`, or with namespaces, `crm.todo`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its records are, if its file says so.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Its fields, in the order of their declaration. There is at least one.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this name, if there is one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name() == name)
    }

    /// The field whose name is nearest to one that no field has, if one is near.
    pub(crate) fn nearest_field(&self, name: &str) -> Option<&Field> {
        self.field(super::nearest::to(name, self.fields.iter().map(Field::name))?)
    }
}
