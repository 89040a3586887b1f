//! Resource types as JSON Schemas (draft 2020-12).

use serde_json::{Map, Value, json};

use super::{Field, FieldType, ResourceType, Verb};
use crate::RecordId;

#[cfg(test)]
mod tests;

impl ResourceType {
    /// The JSON Schema of its records.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = self.record();
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = self.name.as_str().into();
        schema
    }

    /// The JSON Schema of a command's params, which are an object.
    #[must_use]
    pub fn input(&self, command: Verb) -> Value {
        let mut input = Input::default();
        match command {
            Verb::Create => {
                input.add("id", id("The new record's id. One is made if there is none."));
                for field in &self.fields {
                    input.add(&field.name, field.stored());
                    input.require(field.required.then_some(&field.name));
                }
                input.metadata(json!({ "requestId": request_id() }));
            }
            Verb::Read | Verb::Delete | Verb::Update => {
                input.add("id", id("The record's id."));
                input.require(["id"]);
                if command == Verb::Update {
                    for field in &self.fields {
                        input.add(&field.name, field.changed());
                    }
                }
                let metadata = json!({ "requestId": request_id(), "ifVersion": if_version() });
                input.metadata(if command == Verb::Read { json!({}) } else { metadata });
            }
            Verb::List | Verb::Filter => {
                input.add("limit", limit());
                input.add("cursor", cursor());
                if command == Verb::Filter {
                    for field in &self.fields {
                        input.add(&field.name, field.criterion());
                    }
                }
                input.metadata(json!({ "limit": limit(), "cursor": cursor() }));
            }
            Verb::Status => input.metadata(json!({})),
            Verb::Revert => {
                input.add(
                    "requestId",
                    described("string", "The requestId of what is to be undone."),
                );
                input.require(["requestId"]);
                input.metadata(json!({}));
            }
        }
        input.schema()
    }

    /// The JSON Schema of a command's result.
    #[must_use]
    pub fn output(&self, command: Verb) -> Value {
        match command {
            Verb::Create | Verb::Read | Verb::Update => self.record(),
            Verb::Delete => described("null", "The record is no more."),
            Verb::List | Verb::Filter => self.page(),
            Verb::Status => self.status(),
            Verb::Revert => reverted(),
        }
    }

    fn record(&self) -> Value {
        let mut properties = Map::new();
        let mut required = vec!["id"];
        properties
            .insert("id".to_owned(), described("string", "Tells the record from all others."));
        for field in &self.fields {
            properties.insert(field.name.clone(), field.stored());
            if field.required || field.default.is_some() {
                required.push(&field.name);
            }
        }
        let mut version = described("integer", "1 when it is created, and more with each change.");
        version["minimum"] = 1.into();
        properties.insert("version".to_owned(), version);
        properties.insert("createdAt".to_owned(), time("When it was created."));
        properties.insert("updatedAt".to_owned(), time("When it was changed last."));
        required.extend(["version", "createdAt", "updatedAt"]);
        let mut schema = closed(properties, &required);
        if let Some(description) = &self.description {
            schema["description"] = description.as_str().into();
        }
        schema
    }

    fn page(&self) -> Value {
        let properties = json!({
            "items": {
                "type": "array",
                "items": self.record(),
                "description": "Records, in the order of their ids.",
            },
            "nextCursor": {
                "type": ["string", "null"],
                "description": "The cursor of the next page; null after the last one. \
                    A page may be shorter than its limit, and another come.",
            },
        });
        closed(properties, &["items", "nextCursor"])
    }

    fn status(&self) -> Value {
        let count = json!({ "type": "integer", "minimum": 0 });
        let counts = json!({
            "total": { "type": "integer", "minimum": 0, "description": "How many records there are." },
            "fields": {
                "type": "object",
                "additionalProperties": { "type": "object", "additionalProperties": count },
                "description": "Of fields of few values, how many records have each.",
            },
        });
        let mut counts = closed(counts, &["total", "fields"]);
        counts["description"] = "What is stored.".into();
        let properties = json!({
            "resource": described("string", "The resource's name."),
            "description": described("string", "What its records are."),
            "counts": counts,
            "commands": {
                "type": "array",
                "items": { "type": "string" },
                "description": "What can be done with its records.",
            },
            "schema": described("object", "The JSON Schema of its records."),
        });
        closed(properties, &["resource", "counts", "commands", "schema"])
    }
}

impl Field {
    /// As a record has it.
    fn stored(&self) -> Value {
        let mut schema = self.shape();
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }

    /// As an update has it: without its default, which clients might fill in.
    fn changed(&self) -> Value {
        let mut schema = self.shape();
        if self.required {
            return schema;
        }
        schema["type"] = json!([self.kind.as_str(), "null"]);
        if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
            allowed.push(Value::Null);
        }
        self.describe(
            &mut schema,
            match &self.default {
                Some(default) => format!("Null puts its default back, {default}."),
                None => "Null removes it.".to_owned(),
            },
        );
        schema
    }

    /// As records are looked for.
    fn criterion(&self) -> Value {
        if self.kind == FieldType::String {
            // Not its enum: a part of a value does, too.
            let mut schema = json!({ "type": "string" });
            self.describe(
                &mut schema,
                "Fits records in which it contains this, in upper or lower case.",
            );
            return schema;
        }
        let mut schema = self.shape();
        self.describe(&mut schema, "Fits records in which it equals this.");
        schema
    }

    fn shape(&self) -> Value {
        let mut schema = json!({ "type": self.kind.as_str() });
        if let Some(allowed) = &self.allowed {
            schema["enum"] = allowed.as_slice().into();
        }
        if let Some(description) = &self.description {
            schema["description"] = description.as_str().into();
        }
        schema
    }

    /// Describes it by its own description, if it has one, and a sentence more.
    fn describe(&self, schema: &mut Value, more: impl AsRef<str>) {
        let more = more.as_ref();
        schema["description"] = match self.description.as_deref() {
            Some(own) if own.ends_with(['.', '!', '?']) => format!("{own} {more}"),
            Some(own) if !own.is_empty() => format!("{own}. {more}"),
            _ => more.to_owned(),
        }
        .into();
    }
}

/// The schema of a command's params, while it is made.
#[derive(Default)]
struct Input {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Input {
    /// Adds a property; a field is added after those that give way to it.
    fn add(&mut self, name: &str, schema: Value) {
        self.properties.insert(name.to_owned(), schema);
    }

    fn require<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) {
        self.required.extend(names.into_iter().map(Into::into));
    }

    /// Adds what goes along with a command. It may have more members than are known here.
    fn metadata(&mut self, properties: Value) {
        let mut schema = described("object", "What goes along with the command.");
        schema["properties"] = properties;
        self.add("metadata", schema);
    }

    fn schema(self) -> Value {
        closed(self.properties, &self.required)
    }
}

/// An object without other members.
fn closed(properties: impl Into<Value>, required: &[impl AsRef<str>]) -> Value {
    let required: Vec<&str> = required.iter().map(AsRef::as_ref).collect();
    json!({
        "type": "object",
        "properties": properties.into(),
        "required": required,
        "additionalProperties": false,
    })
}

fn described(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

fn time(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}

fn id(description: &str) -> Value {
    json!({
        "type": ["string", "number"],
        "minLength": 1,
        "maxLength": RecordId::MAX_BYTES,
        "description": description,
    })
}

fn request_id() -> Value {
    described(
        "string",
        "The same for a request that is sent again: it acts once. It is also what revert undoes.",
    )
}

fn if_version() -> Value {
    json!({
        "type": "integer",
        "minimum": 1,
        "description": "The version that the record must have, or nothing is done.",
    })
}

fn limit() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "Most records of the page." })
}

fn cursor() -> Value {
    described(
        "string",
        "The nextCursor of the page before. Without it, the first page is answered.",
    )
}

fn reverted() -> Value {
    let properties = json!({
        "status": {
            "type": "string",
            "enum": ["reverted", "noop"],
            "description": "noop if there was nothing to undo.",
        },
        "requestId": described("string", "The requestId that was given."),
    });
    closed(properties, &["status", "requestId"])
}
