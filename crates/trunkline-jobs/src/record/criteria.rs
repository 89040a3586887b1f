use serde_json::{Map, Value};

use super::Record;
use crate::declaration::same;

/// What the records have that are wanted. Strings are found by a part of them, whatever its case;
/// everything else is the same or is no match; a field that a record does not have is no match.
pub(crate) struct Criteria(Vec<(String, Criterion)>);

enum Criterion {
    /// [Folded](fold).
    Contains(String),
    Is(Value),
}

impl Criteria {
    pub(crate) fn new(criteria: Map<String, Value>) -> Self {
        let criterion = |value| match value {
            Value::String(text) => Criterion::Contains(fold(&text)),
            value => Criterion::Is(value),
        };
        Self(criteria.into_iter().map(|(name, value)| (name, criterion(value))).collect())
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
            (Self::Is(wanted), value) => same(wanted, value),
        }
    }
}

/// The text without its case, character by character: a part of a text is then a part of the folded text.
/// `str::to_lowercase` looks at what stands beside a sigma, too.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let one_sigma = |c| if c == 'ς' { 'σ' } else { c };
    text.chars().flat_map(char::to_lowercase).map(one_sigma).collect()
}
