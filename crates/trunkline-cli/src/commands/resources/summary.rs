use serde_json::Value;
use trunkline_resources::{Field, ResourceType, Verb};

/// A type as people are told of it. What there is nothing of is empty.
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) fields: Vec<FieldSummary>,
    pub(super) commands: Vec<String>,
    /// Of its records.
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

impl From<&ResourceType> for Summary {
    fn from(kind: &ResourceType) -> Self {
        Self {
            name: kind.name().to_owned(),
            description: kind.description().unwrap_or_default().to_owned(),
            fields: kind.fields().iter().map(FieldSummary::from).collect(),
            commands: Verb::ALL.map(|verb| verb.as_str().to_owned()).to_vec(),
            schema: kind.schema(),
        }
    }
}

impl From<&Field> for FieldSummary {
    fn from(field: &Field) -> Self {
        Self {
            name: field.name().to_owned(),
            kind: field.kind().to_string(),
            is_required: field.required(),
            default: field.default().map(shown).unwrap_or_default(),
            values: field.allowed().unwrap_or_default().iter().map(shown).collect(),
            description: field.description().unwrap_or_default().to_owned(),
        }
    }
}

/// A value as JSON, a text as it is.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
