//! The schema of an object, member by member.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use trunkline_core::schema::{self, Schema};

use super::probe::Generate;

/// The schema of an object, member by member: of a method's params, or of an error's data.
#[derive(Debug)]
pub struct ObjectSchema {
    generator: SchemaGenerator,
    members: Vec<Member>,
    is_closed: bool,
}

#[derive(Debug)]
struct Member {
    name: &'static str,
    schema: schemars::Schema,
    is_required: bool,
}

impl ObjectSchema {
    /// Of params: others than the declared ones are refused.
    #[must_use]
    pub fn of_params() -> Self {
        let generator = schema::settings_of_input().into_generator();
        Self { generator, members: Vec::new(), is_closed: true }
    }

    /// Of data, to which later versions may add.
    #[must_use]
    pub fn of_data() -> Self {
        let generator = schema::settings_of_output().into_generator();
        Self { generator, members: Vec::new(), is_closed: false }
    }

    /// Adds a member that is required until something else is said. Without a schema it is any value.
    #[must_use]
    pub fn member(mut self, name: &'static str, generate: Option<Generate>) -> Self {
        let schema = match generate {
            Some(generate) => generate(&mut self.generator),
            None => true.into(),
        };
        self.members.push(Member { name, schema, is_required: true });
        self
    }

    /// The last member may be left out.
    #[must_use]
    pub fn optional(self) -> Self {
        self.optional_if(true)
    }

    /// The last member may be left out if its type has a value for that.
    #[must_use]
    pub fn optional_if(mut self, may_be_absent: bool) -> Self {
        if let Some(last) = self.members.last_mut() {
            last.is_required = !may_be_absent;
        }
        self
    }

    /// What the last member is when it is left out.
    #[must_use]
    pub fn default_value(self, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with("default", value),
            None => self,
        }
    }

    /// What the last member means. This says more than what its type says of itself.
    #[must_use]
    pub fn described(self, text: &str) -> Self {
        self.with("description", text.into())
    }

    fn with(mut self, keyword: &str, value: Value) -> Self {
        if let Some(last) = self.members.last_mut() {
            last.schema.insert(keyword.to_owned(), value);
        }
        self
    }
}

impl From<ObjectSchema> for Schema {
    fn from(object: ObjectSchema) -> Self {
        let ObjectSchema { mut generator, members, is_closed } = object;
        let required: Vec<&str> =
            members.iter().filter(|member| member.is_required).map(|member| member.name).collect();
        let mut whole = Map::new();
        whole.insert("type".to_owned(), "object".into());
        if !required.is_empty() {
            whole.insert("required".to_owned(), required.into());
        }
        let properties: Map<String, Value> =
            members.into_iter().map(|it| (it.name.to_owned(), it.schema.to_value())).collect();
        whole.insert("properties".to_owned(), properties.into());
        if is_closed {
            whole.insert("additionalProperties".to_owned(), false.into());
        }
        // Only types that hold themselves are defined apart.
        let definitions = generator.take_definitions(false);
        if !definitions.is_empty() {
            whole.insert("$defs".to_owned(), json!(definitions));
        }
        let schema = schema::finished(whole.into());
        if is_closed { schema.without_null_options() } else { schema }
    }
}
