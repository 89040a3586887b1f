//! Record types as JSON Schemas (draft 2020-12).

mod input;
mod output;
mod parts;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::types::RecordType;
use super::verb::Verb;
use parts::described;

impl RecordType {
    /// The JSON Schema of the records.
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
            Verb::Delete => described("null", "The record was deleted."),
            Verb::List | Verb::Filter => output::page(self),
            Verb::Status => output::status(),
            Verb::Revert => output::reverted(),
        }
    }
}
