use schemars::transform::{RecursiveTransform, Transform};
use serde_json::json;
use trunkline::Schema;

/// A tool that a model may call.
#[derive(Debug, Clone)]
pub struct Tool {
    /// 1 to 64 of the characters `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The schema of the arguments.
    pub input: Schema,
}

impl Tool {
    /// The approximate size in a prompt, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.input.as_value().to_string().len()
    }

    /// A shorter version for a small context: the first sentence of the description, and the schema without
    /// descriptions, titles, defaults and examples.
    #[must_use]
    pub fn brief(&self) -> Self {
        let end = self.description.find(". ").map_or(self.description.len(), |end| end + 1);
        let description = self.description[..end].chars().take(MAX_BRIEF_CHARS).collect();
        let annotated = schemars::Schema::try_from(self.input.as_value().clone());
        let input = annotated.map_or_else(
            |_| self.input.clone(),
            |mut schema| {
                RecursiveTransform(without_annotations).transform(&mut schema);
                Schema::from(schema.to_value())
            },
        );
        Self { name: self.name.clone(), description, input }
    }

    /// The tool with a description that endpoints accept. A longer one is shortened at the end of a sentence, or else of
    /// a word, with a mark.
    pub(crate) fn portable(mut self) -> Self {
        if let Some(shown) = shortened(&self.description) {
            self.description = format!("{shown} {SHORTENED}");
        }
        self
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        let Self { name, description, input } = self;
        let parameters = input.as_value();
        json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": parameters },
        })
    }
}

/// The maximum length of a brief description in characters.
const MAX_BRIEF_CHARS: usize = 160;

/// The maximum length of a description in characters that endpoints accept.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// The mark at the end of a shortened description.
const SHORTENED: &str = "[shortened]";

/// The beginning of a description that is too long: whole sentences if they are at least half of the maximum, or else
/// whole words. `None` if it is short enough.
fn shortened(description: &str) -> Option<&str> {
    let (end, _) = description.char_indices().nth(MAX_DESCRIPTION_CHARS).and_then(|_| {
        description.char_indices().nth(MAX_DESCRIPTION_CHARS - SHORTENED.len() - 1)
    })?;
    let beginning = &description[..end];
    let sentence = [". ", ".\n", "\n\n"].iter().filter_map(|&end| beginning.rfind(end)).max();
    let sentence = sentence.map(|end| &beginning[..=end]).filter(|text| text.len() > end / 2);
    let word = || beginning.rfind(char::is_whitespace).map(|end| &beginning[..end]);
    let word = || word().filter(|text| text.len() > end / 2);
    Some(sentence.or_else(word).unwrap_or(beginning).trim_end())
}

fn without_annotations(schema: &mut schemars::Schema) {
    for name in ["$schema", "$comment", "title", "description", "default", "examples"] {
        schema.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_brief(
        description: &str,
        input: serde_json::Value,
        expected: (&str, serde_json::Value),
    ) {
        let tool = Tool { name: "t".into(), description: description.into(), input: input.into() };
        let brief = tool.brief();
        assert_eq!((&*brief.description, brief.input.as_value()), (expected.0, &expected.1));
    }

    #[test]
    fn brief_keeps_names_and_types() {
        let input = json!({
            "$schema": "s", "title": "T", "description": "d", "type": "object",
            "properties": {
                "description": { "type": "string", "description": "d", "default": "x" },
                "title": { "anyOf": [{ "const": "a", "title": "A" }, { "enum": ["description"] }] },
            },
            "required": ["description"],
        });
        let brief = json!({
            "type": "object",
            "properties": {
                "description": { "type": "string" },
                "title": { "anyOf": [{ "const": "a" }, { "enum": ["description"] }] },
            },
            "required": ["description"],
        });
        check_brief("Adds 1.5 and more. And so on.", input, ("Adds 1.5 and more.", brief));
        check_brief("One sentence", json!(true), ("One sentence", json!(true)));
        check_brief("", json!("no schema"), ("", json!("no schema")));
        check_brief(&"é".repeat(200), json!({}), (&"é".repeat(160), json!({})));
    }

    #[track_caller]
    fn check_portable(description: &str, expected: &str) {
        let tool =
            Tool { name: "t".into(), description: description.into(), input: json!({}).into() };
        let found = tool.portable().description;
        assert_eq!(found, expected);
        assert!(found.chars().count() <= MAX_DESCRIPTION_CHARS, "{found}");
    }

    #[test]
    fn shortens_descriptions() {
        let text = |length: usize| "é".repeat(length);
        for whole in [String::new(), "Adds.".to_owned(), text(1_024)] {
            check_portable(&whole, &whole);
        }
        let long = text(900);
        check_portable(&format!("{long}. And {long}."), &format!("{long}. [shortened]"));
        check_portable(&format!("{long}\n\nAnd {long}"), &format!("{long} [shortened]"));
        check_portable(&format!("A. {long} {long}"), &format!("A. {long} [shortened]"));
        check_portable(&text(1_025), &format!("{} [shortened]", text(1_012)));
        check_portable(&format!("{} b", text(1_023)), &format!("{} [shortened]", text(1_012)));
    }
}
