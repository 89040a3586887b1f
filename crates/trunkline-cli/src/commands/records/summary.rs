//! Summaries of record types, from a file or from the document at `GET /forms` of a server.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use trunkline_records::{Field, RecordType, Verb};

/// A record type. Missing texts are empty.
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) fields: Vec<FieldSummary>,
    pub(super) commands: Vec<String>,
    /// The JSON Schema of its records.
    pub(super) schema: Value,
}

pub(super) struct FieldSummary {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) is_required: bool,
    pub(super) default: String,
    pub(super) values: Vec<String>,
    pub(super) description: String,
}

/// An entry of the document: one command of a type, or another operation.
#[derive(Deserialize)]
struct Form {
    /// The operation's name.
    rel: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    command: String,
    /// The fields of the type, in their declared order.
    #[serde(default)]
    fields: Vec<String>,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
}

/// The JSON Schema of the input of `create`.
#[derive(Deserialize)]
struct Input {
    properties: HashMap<String, Property>,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "type")]
    kind: Option<Value>,
    default: Option<Value>,
    #[serde(rename = "enum", default)]
    values: Vec<Value>,
    #[serde(default)]
    description: String,
}

impl From<&RecordType> for Summary {
    fn from(kind: &RecordType) -> Self {
        let fields = kind.fields().iter().map(Field::name);
        let commands = Verb::ALL.map(|verb| verb.as_str().to_owned()).to_vec();
        let input = kind.input(Verb::Create);
        Self::new(kind.name(), fields, commands, kind.schema(), input)
            .expect("a type has the schemas that its server publishes")
    }
}

impl Summary {
    fn new<'f>(
        name: &str,
        fields: impl Iterator<Item = &'f str>,
        commands: Vec<String>,
        schema: Value,
        create: Value,
    ) -> Option<Self> {
        let input: Input = serde_json::from_value(create).ok()?;
        let field = |name: &str| {
            let property = input.properties.get(name)?;
            Some(FieldSummary {
                name: name.to_owned(),
                kind: property.kind.as_ref().map(text).unwrap_or_default(),
                is_required: input.required.iter().any(|required| required == name),
                default: property.default.as_ref().map(text).unwrap_or_default(),
                values: property.values.iter().map(text).collect(),
                description: property.description.clone(),
            })
        };
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            fields: fields.map(field).collect::<Option<_>>()?,
            commands,
            schema,
        })
    }
}

/// Returns the record types in the order of the document; `None` if it is another document.
pub(super) fn published(document: &RawValue) -> Option<Vec<Summary>> {
    let forms: Vec<Form> = serde_json::from_str(document.get()).ok()?;
    let created = forms.iter().filter(|form| form.command == "create");
    Some(created.filter_map(|form| summary(form, &forms)).collect())
}

/// Returns `None` if this is not a record type, but an operation named like one.
fn summary(create: &Form, forms: &[Form]) -> Option<Summary> {
    let read = format!("{}.read", create.resource);
    let read = forms.iter().find(|form| form.rel == read)?;
    let mut schema: Value = serde_json::from_str(read.output.as_ref()?.get()).ok()?;
    let record = schema.as_object_mut()?;
    record.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    record.insert("title".to_owned(), create.resource.as_str().into());

    let create_input = serde_json::from_str(create.input.as_ref()?.get()).ok()?;
    let of_type = forms.iter().filter(|form| form.resource == create.resource);
    let commands = of_type.map(|form| form.command.clone()).collect();
    let fields = create.fields.iter().map(String::as_str);
    Summary::new(&create.resource, fields, commands, schema, create_input)
}

/// A row for each type, as JSON.
pub(super) fn rows(types: &[Summary]) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Row<'t> {
        name: &'t str,
        fields: String,
        description: &'t str,
    }
    let mut rows = Vec::new();
    for Summary { name, fields, description, .. } in types {
        let fields: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        rows.push(Row { name, fields: fields.join(", "), description });
    }
    to_raw_value(&rows).expect("text is JSON")
}

/// A row for each field of a type, as JSON.
pub(super) fn field_rows(kind: &Summary) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Row<'t> {
        field: &'t str,
        r#type: &'t str,
        required: bool,
        default: &'t str,
        values: String,
        description: &'t str,
    }
    let mut rows = Vec::new();
    for field in &kind.fields {
        rows.push(Row {
            field: &field.name,
            r#type: &field.kind,
            required: field.is_required,
            default: &field.default,
            values: field.values.join(", "),
            description: &field.description,
        });
    }
    to_raw_value(&rows).expect("text is JSON")
}

/// A string without quotes, any other value as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
