use serde::Serialize;
use serde_json::{Value, json};
use trunkline_core::call::Description;

use super::components::Components;

/// "Error Object": the errors of one code, since codes are unique in a method.
#[derive(Debug, Serialize)]
pub(super) struct Fault {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// What is known of the errors of one code.
struct Known<'a> {
    code: i64,
    messages: Vec<&'a str>,
    data: Vec<Value>,
}

/// The errors of a method, in the order in which their codes were declared first.
pub(super) fn list(description: &Description, components: &mut Components) -> Vec<Fault> {
    let mut all: Vec<Known<'_>> = Vec::new();
    for error in &description.errors {
        let code = error.code;
        let index = all.iter().position(|known| known.code == code).unwrap_or_else(|| {
            all.push(Known { code, messages: Vec::new(), data: Vec::new() });
            all.len() - 1
        });
        let Known { messages, data, .. } = &mut all[index];
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
    all.into_iter().map(Known::merged).collect()
}

impl Known<'_> {
    fn merged(mut self) -> Fault {
        let data = match self.data.len() {
            0 | 1 => self.data.pop(),
            _ => Some(json!({ "anyOf": self.data })),
        };
        Fault { code: self.code, message: self.messages.join("; or: "), data }
    }
}
