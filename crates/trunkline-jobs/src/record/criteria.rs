use serde_json::{Map, Value};

use super::Record;
use crate::types::same;

/// What the records have that are wanted. Strings are found by a part of them, whatever its case;
/// everything else is the same or is no match; a field that a record does not have is no match.
pub(crate) struct Criteria(Vec<(String, Criterion)>);

enum Criterion {
    /// In lower case.
    Contains(String),
    Is(Value),
}

impl Criteria {
    pub(crate) fn new(criteria: Map<String, Value>) -> Self {
        let criterion = |value| match value {
            Value::String(text) => Criterion::Contains(text.to_lowercase()),
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
            (Self::Contains(part), Value::String(text)) => text.to_lowercase().contains(part),
            (Self::Contains(_), _) => false,
            (Self::Is(wanted), value) => same(wanted, value),
        }
    }
}
