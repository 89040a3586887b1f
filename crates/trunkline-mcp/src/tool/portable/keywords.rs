//! Keywords that restrict or describe the values of one schema.

use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::node::{Node, Usage, sentence};
use crate::protocol::shortened;

/// The types of the values that a schema accepts. Empty if they may have any type.
pub(super) fn kinds_of(members: &Map<String, Value>, usage: Usage) -> Vec<Kind> {
    let names = match members.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut kinds: Vec<Kind> = names.into_iter().filter_map(Kind::parse).collect();
    let values = values_of(members);
    if kinds.is_empty() {
        kinds = match &values {
            Some(values) => values.iter().map(Kind::of).collect(),
            // Without a type, other keywords apply to values of their type only.
            None if usage != Usage::Results => inferred(members).into_iter().collect(),
            None => Vec::new(),
        };
    }
    if let Some(values) = values
        && kinds.iter().any(|kind| values.iter().any(|value| kind.includes(value)))
    {
        kinds.retain(|kind| values.iter().any(|value| kind.includes(value)));
    }
    let has_numbers = kinds.contains(&Kind::Number);
    let mut distinct = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let is_included = has_numbers && kind == Kind::Integer;
        if !is_included && !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    distinct
}

/// The values of `enum` or `const`.
fn values_of(members: &Map<String, Value>) -> Option<&[Value]> {
    match (members.get("const"), members.get("enum")) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

/// The type of a schema without one, by its keywords.
fn inferred(members: &Map<String, Value>) -> Option<Kind> {
    let keywords: [(Kind, &[&str]); 4] = [
        (
            Kind::Object,
            &[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "propertyNames",
                "minProperties",
                "maxProperties",
            ],
        ),
        (Kind::Array, &["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]),
        (Kind::String, &["pattern", "format", "minLength", "maxLength", "contentEncoding"]),
        (
            Kind::Number,
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        ),
    ];
    let has_any = |keywords: &[&str]| keywords.iter().any(|keyword| members.contains_key(*keyword));
    keywords.into_iter().find(|(_, keywords)| has_any(keywords)).map(|(kind, _)| kind)
}

/// The schemas of a keyword.
pub(super) fn list<'s>(members: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    members.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The schemas by name of a keyword.
pub(super) fn object_of<'s>(
    members: &'s Map<String, Value>,
    keyword: &str,
) -> Option<&'s Map<String, Value>> {
    members.get(keyword).and_then(Value::as_object)
}

/// A text that is not blank.
fn text_of<'s>(members: &'s Map<String, Value>, keyword: &str) -> Option<&'s str> {
    members.get(keyword)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Whether the engines of regular expressions accept a pattern: those that run in linear time have no lookaround and no
/// references to groups.
fn is_portable_pattern(pattern: &str) -> bool {
    let unsupported = ["(?=", "(?!", "(?<", "(?P", "(?>", "\\p", "\\P", "\\k", "\\u"];
    let has_reference = pattern.as_bytes().windows(2).any(|pair| {
        let [slash, digit] = pair else { return false };
        *slash == b'\\' && (b'1'..=b'9').contains(digit)
    });
    !has_reference && !unsupported.iter().any(|part| pattern.contains(part))
}

impl Node {
    /// Adds the description, and what else does not restrict values.
    pub(super) fn annotate(&mut self, members: &Map<String, Value>, usage: Usage) {
        self.description = text_of(members, "description").map(str::to_owned);
        if let Some(title) = text_of(members, "title") {
            self.rest.insert("title".to_owned(), title.into());
        }
        let header = members.get("x-mcp-header");
        if let (Usage::Arguments { has_headers: true }, Some(header)) = (usage, header) {
            self.rest.insert("x-mcp-header".to_owned(), header.clone());
        }
        if members.get("deprecated") == Some(&Value::Bool(true)) {
            self.note("Deprecated.".to_owned());
        }
        let examples: Vec<_> = list(members, "examples").iter().map(Value::to_string).collect();
        if !examples.is_empty() && usage != Usage::Results {
            self.note(format!("For example: {}.", sentence(&examples)));
        }
    }

    /// Adds the default, when the type of the values is known.
    pub(super) fn set_default(&mut self, members: &Map<String, Value>) {
        let Some(default) = members.get("default").filter(|default| !default.is_null()) else {
            return;
        };
        let is_allowed = match (&self.texts, default.as_str()) {
            (Some(texts), Some(default)) => texts.iter().any(|text| text == default),
            _ => true,
        };
        if is_allowed && self.kind.is_some_and(|kind| kind.includes(default)) {
            self.rest.insert("default".to_owned(), default.clone());
        } else {
            self.note(format!("Default: {}.", shortened(&default.to_string())));
        }
    }

    pub(super) fn restrict_object(&mut self, members: &Map<String, Value>) {
        let names = list(members, "required").iter().filter_map(Value::as_str);
        self.required = names.map(str::to_owned).collect();
        let has_patterns = members.contains_key("patternProperties");
        self.is_closed =
            !has_patterns && members.get("additionalProperties") == Some(&Value::Bool(false));
        self.keep_counts(members, ["minProperties", "maxProperties"]);
    }

    pub(super) fn restrict_array(&mut self, members: &Map<String, Value>) {
        self.keep_counts(members, ["minItems", "maxItems"]);
        if members.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.note("The items are distinct.".to_owned());
        }
    }

    pub(super) fn restrict_string(&mut self, members: &Map<String, Value>) {
        self.keep_counts(members, ["minLength", "maxLength"]);
        if let Some(pattern) = text_of(members, "pattern") {
            if is_portable_pattern(pattern) {
                self.rest.insert("pattern".to_owned(), pattern.into());
            } else {
                self.note(format!("Pattern: `{}`.", shortened(pattern)));
            }
        }
        match text_of(members, "format") {
            Some("date-time") => {
                self.rest.insert("format".to_owned(), "date-time".into());
            }
            Some(format) => self.note(format!("Format: {}.", shortened(format))),
            None => {}
        }
        if let Some(encoding) = text_of(members, "contentEncoding") {
            self.note(format!("Encoding: {}.", shortened(encoding)));
        }
    }

    pub(super) fn restrict_number(&mut self, members: &Map<String, Value>) {
        self.restrict_bound(members, ["minimum", "exclusiveMinimum"], ("more than", 1));
        self.restrict_bound(members, ["maximum", "exclusiveMaximum"], ("less than", -1));
        if let Some(factor) = members.get("multipleOf").filter(|factor| factor.is_number()) {
            self.note(format!("A multiple of {factor}."));
        }
    }

    /// An exclusive bound is a number, or in draft 4 whether the inclusive one is exclusive.
    fn restrict_bound(
        &mut self,
        members: &Map<String, Value>,
        [inclusive, exclusive]: [&str; 2],
        (phrase, step): (&str, i64),
    ) {
        let number = |keyword: &str| members.get(keyword).filter(|bound| bound.is_number());
        let bound = number(inclusive);
        let exclusive = match members.get(exclusive) {
            Some(Value::Bool(true)) => bound,
            _ => number(exclusive),
        };
        let next = exclusive.and_then(|bound| bound.as_i64()?.checked_add(step));
        let found = match (exclusive, next) {
            (Some(_), Some(next)) if self.kind == Some(Kind::Integer) => Some(json!(next)),
            (Some(bound), _) => {
                self.note(format!("Must be {phrase} {bound}."));
                Some(bound.clone())
            }
            (None, _) => bound.cloned(),
        };
        if let Some(found) = found {
            self.rest.insert(inclusive.to_owned(), found);
        }
    }

    /// Restricts the values to those of `enum` or `const`, of which APIs accept texts that are not empty.
    pub(super) fn restrict_values(&mut self, members: &Map<String, Value>, usage: Usage) {
        let (Some(values), Some(kind)) = (values_of(members), self.kind) else { return };
        let values: Vec<_> = values.iter().filter(|value| kind.includes(value)).collect();
        match kind {
            Kind::Null => {}
            Kind::String => {
                let mut texts: Vec<_> = values.into_iter().filter_map(Value::as_str).collect();
                let has_empty = texts.contains(&"");
                if has_empty {
                    self.note("Also accepts: \"\".".to_owned());
                    texts.retain(|text| !text.is_empty());
                }
                // A list without the empty text would forbid it in results.
                let is_complete = !has_empty || usage != Usage::Results;
                if is_complete && !texts.is_empty() {
                    self.texts = Some(texts.into_iter().map(str::to_owned).collect());
                }
            }
            Kind::Boolean if values.len() != 1 => {}
            _ if values.is_empty() => {}
            _ => self.values = Some(values.into_iter().cloned().collect()),
        }
    }

    fn keep_counts(&mut self, members: &Map<String, Value>, keywords: [&str; 2]) {
        for keyword in keywords {
            if let Some(count) = members.get(keyword).filter(|count| count.is_u64()) {
                self.rest.insert(keyword.to_owned(), count.clone());
            }
        }
    }
}
