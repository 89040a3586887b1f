//! The definition of a tool that is reviewed: the members that a model or a user sees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The digest of a tool's definition: SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(pub(crate) String);

/// Title, description, schemas and annotations. The order of members does not matter.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ReviewedDefinition(BTreeMap<String, Value>);

/// The difference of two definitions.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// The members that differ, with `-` for the earlier value and `+` for the current one.
    pub(crate) lines: Vec<String>,
    /// Whether lines are missing, or the last one is incomplete.
    pub(crate) is_truncated: bool,
    /// The maximum size of further lines in bytes.
    budget: usize,
}

const MEMBERS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

impl ReviewedDefinition {
    /// The definition in the object of a tool.
    pub(crate) fn of(tool: &RawValue) -> Result<Self, serde_json::Error> {
        let mut members: BTreeMap<String, Value> = serde_json::from_str(tool.get())?;
        members.retain(|name, value| MEMBERS.contains(&name.as_str()) && !value.is_null());
        Ok(Self(members))
    }

    pub(crate) fn digest(&self) -> Digest {
        let mut text = String::new();
        for member in MEMBERS {
            write_canonical(&mut text, self.0.get(member).unwrap_or(&Value::Null));
            text.push('\n');
        }
        let digest = digest(&SHA256, text.as_bytes());
        let mut digits = String::with_capacity(64);
        for byte in digest.as_ref() {
            // Writing to a string never fails.
            let _ = write!(digits, "{byte:02x}");
        }
        Digest(digits)
    }

    /// The members that differ from those of an earlier definition, or all. The lines have at most `budget` bytes.
    pub(crate) fn difference(&self, earlier: Option<&Self>, budget: usize) -> Difference {
        let mut difference = Difference { lines: Vec::new(), is_truncated: false, budget };
        for member in MEMBERS {
            let before = earlier.and_then(|earlier| earlier.0.get(member));
            difference.compare(&mut member.to_owned(), before, self.0.get(member));
        }
        difference
    }
}

impl Difference {
    fn compare(&mut self, path: &mut String, before: Option<&Value>, after: Option<&Value>) {
        if before == after || self.is_truncated {
            return;
        }
        let length = path.len();
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
                    path.push('.');
                    path.push_str(name);
                    self.compare(path, before.get(name), after.get(name));
                    path.truncate(length);
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for index in 0..before.len().max(after.len()) {
                    // Writing to a string never fails.
                    let _ = write!(path, "[{index}]");
                    self.compare(path, before.get(index), after.get(index));
                    path.truncate(length);
                }
            }
            (before, after) => {
                for (sign, value) in [('-', before), ('+', after)] {
                    if let Some(value) = value {
                        self.push(sign, path, value);
                    }
                }
            }
        }
    }

    fn push(&mut self, sign: char, path: &str, value: &Value) {
        let mut line = format!("{sign} ");
        if line.len() > self.budget {
            self.is_truncated = true;
            return;
        }
        for char in path.chars().chain(": ".chars()).chain(value.to_string().chars()) {
            let start = line.len();
            // Characters that a terminal or a page does not show, or that change the order of others.
            if char.is_ascii_graphic() || char == ' ' || char.escape_debug().count() == 1 {
                line.push(char);
            } else {
                line.extend(char.escape_unicode());
            }
            if line.len() > self.budget {
                line.truncate(start);
                self.is_truncated = true;
                break;
            }
        }
        self.budget -= line.len();
        self.lines.push(line);
    }
}

/// Appends JSON whose objects are sorted by key.
fn write_canonical(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            text.push('{');
            for (name, value) in members {
                *text += &Value::from(name.as_str()).to_string();
                text.push(':');
                write_canonical(text, value);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(text, item);
                text.push(',');
            }
            text.push(']');
        }
        value => *text += &value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(tool: &Value) -> ReviewedDefinition {
        ReviewedDefinition::of(&serde_json::value::to_raw_value(tool).unwrap()).unwrap()
    }

    #[track_caller]
    fn check(one: Value, other: Value, expected: &[&str]) {
        let (before, after) = (definition(&one), definition(&other));
        let is_same = before.digest() == after.digest();
        assert_eq!(is_same, expected.is_empty(), "{one} {other}");
        let found = after.difference(Some(&before), 1_000);
        assert!(!found.is_truncated);
        assert_eq!(found.lines, expected);
    }

    #[test]
    fn differences_of_definitions() {
        let tool = || json!({"name": "a", "description": "b", "inputSchema": {"type": "object", "x": [1, 2]}});
        let with = |member: &str, value: Value| {
            let mut tool = tool();
            tool[member] = value;
            tool
        };
        check(tool(), tool(), &[]);
        check(tool(), with("name", "c".into()), &[]);
        check(tool(), with("_meta", json!({"a": 1})), &[]);
        check(tool(), with("title", Value::Null), &[]);
        check(tool(), with("inputSchema", json!({"x": [1, 2], "type": "object"})), &[]);
        check(
            tool(),
            with("inputSchema", json!({"x": [2, 1, {}], "type": "object"})),
            &[
                "- inputSchema.x[0]: 1",
                "+ inputSchema.x[0]: 2",
                "- inputSchema.x[1]: 2",
                "+ inputSchema.x[1]: 1",
                "+ inputSchema.x[2]: {}",
            ],
        );
        let changed = with("description", "c\n\u{202e}\u{e0041}é".into());
        let line = r#"+ description: "c\n\u{202e}\u{e0041}é""#;
        check(tool(), changed, &[r#"- description: "b""#, line]);
        check(tool(), with("title", "c".into()), &[r#"+ title: "c""#]);
        check(with("outputSchema", json!({})), tool(), &["- outputSchema: {}"]);
        let hints = json!({"readOnlyHint": true});
        check(tool(), with("annotations", hints), &[r#"+ annotations: {"readOnlyHint":true}"#]);
        // Text that moves from one member to another.
        let expected = [r#"- title: "a""#, r#"+ description: "a""#];
        check(json!({"title": "a"}), json!({"description": "a"}), &expected);
    }

    #[test]
    fn long_differences() {
        let long = definition(&json!({"title": "é".repeat(10), "description": "b"}));
        for budget in 0..40 {
            let found = long.difference(None, budget);
            let size: usize = found.lines.iter().map(String::len).sum();
            assert!(size <= budget && found.is_truncated, "{budget} {found:?}");
        }
        let found = long.difference(None, 100);
        assert_eq!((found.lines.len(), found.is_truncated), (2, false));
    }
}
