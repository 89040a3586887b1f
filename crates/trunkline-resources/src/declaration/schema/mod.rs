//! Resource types as JSON Schemas (draft 2020-12).

mod field;
mod input;
mod output;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::{ResourceType, Verb};

impl ResourceType {
    /// The JSON Schema of its records.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = output::record(self);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = self.name().into();
        schema
    }

    /// The JSON Schema of a command's params, which are an object.
    #[must_use]
    pub fn input(&self, command: Verb) -> Value {
        match command {
            Verb::Create => input::create(self),
            Verb::Read => input::read(),
            Verb::Update => input::update(self),
            Verb::Delete => input::delete(),
            Verb::List => input::list(),
            Verb::Filter => input::filter(self),
            Verb::Status => input::status(),
            Verb::Revert => input::revert(),
        }
    }

    /// The JSON Schema of a command's result.
    #[must_use]
    pub fn output(&self, command: Verb) -> Value {
        match command {
            Verb::Create | Verb::Read | Verb::Update => output::record(self),
            Verb::Delete => described("null", "The record is no more."),
            Verb::List | Verb::Filter => output::page(self),
            Verb::Status => output::status(),
            Verb::Revert => output::reverted(),
        }
    }
}

/// The schema of an object that has these properties and no other.
#[derive(Default)]
struct Closed {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Closed {
    fn optional(mut self, name: &str, schema: Value) -> Self {
        self.properties.insert(name.to_owned(), schema);
        self
    }

    fn required(mut self, name: &str, schema: Value) -> Self {
        self.required.push(name.to_owned());
        self.optional(name, schema)
    }

    fn schema(self) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }
}

fn described(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}
