use serde_json::{Map, Value};

use super::Record;
use crate::declaration::{Field, ResourceType, json_equal};

/// The conditions of a filter. A field of free text matches by a part of it, in any case; everything else
/// must be equal: fields of other types, those with an `enum`, ids and times. A field that a record does
/// not have does not match.
pub(crate) struct Criteria(Vec<(String, Criterion)>);

enum Criterion {
    /// [Folded](fold).
    Contains(String),
    Is(Value),
}

impl Criteria {
    pub(crate) fn new(kind: &ResourceType, criteria: Map<String, Value>) -> Self {
        let criterion = |(name, value): (String, Value)| {
            let criterion = match value {
                Value::String(text) if kind.field(&name).is_some_and(Field::is_free_text) => {
                    Criterion::Contains(fold(&text))
                }
                value => Criterion::Is(value),
            };
            (name, criterion)
        };
        Self(criteria.into_iter().map(criterion).collect())
    }

    pub(crate) fn fit(&self, record: &Record<'_>) -> bool {
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
            (Self::Is(wanted), value) => json_equal(wanted, value),
        }
    }
}

/// The text without its case, character by character: a part of a text is then a part of the folded text.
/// `str::to_lowercase` depends on the letters around a sigma.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let one_sigma = |c| if c == 'ς' { 'σ' } else { c };
    text.chars().flat_map(char::to_lowercase).map(one_sigma).collect()
}
