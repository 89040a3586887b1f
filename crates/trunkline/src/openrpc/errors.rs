use serde::Serialize;
use serde_json::{Value, json};
use trunkline_core::call::Description;

use super::components::Components;

/// "Error Object": the errors of one code, since codes are unique in a method.
#[derive(Debug, Serialize)]
pub(super) struct ErrorEntry {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// The declared errors with one code.
struct ErrorGroup<'a> {
    code: i64,
    messages: Vec<&'a str>,
    data: Vec<Value>,
}

/// The errors of a method, in the order of the first declaration of each code.
pub(super) fn list(description: &Description, components: &mut Components) -> Vec<ErrorEntry> {
    let mut groups: Vec<ErrorGroup<'_>> = Vec::new();
    for error in &description.errors {
        let code = error.code;
        let index = groups.iter().position(|group| group.code == code).unwrap_or_else(|| {
            groups.push(ErrorGroup { code, messages: Vec::new(), data: Vec::new() });
            groups.len() - 1
        });
        let ErrorGroup { messages, data, .. } = &mut groups[index];
        if !messages.contains(&error.message.as_str()) {
            messages.push(&error.message);
        }
        if let Some(schema) = &error.data {
            let schema = components.schema(&format!("{}.error", description.name), schema);
            if !data.contains(&schema) {
                data.push(schema);
            }
        }
    }
    groups.into_iter().map(ErrorGroup::into_entry).collect()
}

impl ErrorGroup<'_> {
    fn into_entry(mut self) -> ErrorEntry {
        let data = match self.data.len() {
            0 | 1 => self.data.pop(),
            _ => Some(json!({ "anyOf": self.data })),
        };
        ErrorEntry { code: self.code, message: self.messages.join("; or: "), data }
    }
}
