use serde_json::{Map, Value};

use super::Record;
use crate::declaration::{Field, RecordType, json_equal};

/// The criteria of a filter. Free text matches a substring, ignoring case. Other fields, fields with an `enum`, ids and
/// times must be equal. A missing field does not match.
pub(crate) struct Criteria(Vec<(String, Criterion)>);

enum Criterion {
    /// Contains this text, which is [folded](fold).
    Contains(String),
    Equals(Value),
}

impl Criteria {
    pub(crate) fn new(kind: &RecordType, criteria: Map<String, Value>) -> Self {
        let criterion = |(name, value): (String, Value)| {
            let criterion = match value {
                Value::String(text) if kind.field(&name).is_some_and(Field::is_free_text) => {
                    Criterion::Contains(fold(&text))
                }
                value => Criterion::Equals(value),
            };
            (name, criterion)
        };
        Self(criteria.into_iter().map(criterion).collect())
    }

    pub(crate) fn match_record(&self, record: &Record<'_>) -> bool {
        self.0.iter().all(|(name, criterion)| {
            record.property(name).is_some_and(|value| criterion.matches(&value))
        })
    }
}

impl Criterion {
    fn matches(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Contains(part), Value::String(text)) => fold(text).contains(part),
            (Self::Contains(_), _) => false,
            (Self::Equals(expected), value) => json_equal(expected, value),
        }
    }
}

/// Converts text to lower case character by character, so that substrings stay substrings. `str::to_lowercase` depends
/// on the letters around a sigma.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let one_sigma = |c| if c == 'ς' { 'σ' } else { c };
    text.chars().flat_map(char::to_lowercase).map(one_sigma).collect()
}
