//! Builder of object schemas.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use trunkline_core::schema::{self, Schema};

use super::probe::Generate;

/// Builder of the schema of an object: the params of a method, or the data of an error.
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
    /// A schema of params, which refuses undeclared members.
    #[must_use]
    pub fn of_params() -> Self {
        let generator = schema::input_settings().into_generator();
        Self { generator, members: Vec::new(), is_closed: true }
    }

    /// A schema of data, which allows undeclared members, since later versions may add some.
    #[must_use]
    pub fn of_data() -> Self {
        let generator = schema::output_settings().into_generator();
        Self { generator, members: Vec::new(), is_closed: false }
    }

    /// Adds a required member. Without a schema, it can be any value.
    #[must_use]
    pub fn member(mut self, name: &'static str, generate: Option<Generate>) -> Self {
        let schema = match generate {
            Some(generate) => generate(&mut self.generator),
            None => true.into(),
        };
        self.members.push(Member { name, schema, is_required: true });
        self
    }

    /// Makes the last member optional.
    #[must_use]
    pub fn optional(self) -> Self {
        self.optional_if(true)
    }

    /// Makes the last member optional if its type has a value for a missing member.
    #[must_use]
    pub fn optional_if(mut self, may_be_absent: bool) -> Self {
        if let Some(last) = self.members.last_mut() {
            last.is_required = !may_be_absent;
        }
        self
    }

    /// Sets the default of the last member.
    #[must_use]
    pub fn default_value(self, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with("default", value),
            None => self,
        }
    }

    /// Sets the description of the last member, replacing that of its type.
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
        // Only recursive types have definitions.
        let definitions = generator.take_definitions(false);
        if !definitions.is_empty() {
            whole.insert("$defs".to_owned(), json!(definitions));
        }
        let schema = schema::from_generated(whole.into());
        if is_closed { schema.without_null_options() } else { schema }
    }
}
