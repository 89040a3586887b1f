use serde_json::{Map, Value};

use super::Record;

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
            // As JSON has one kind of number, 1 is 1.0.
            (Self::Is(Value::Number(wanted)), Value::Number(number)) => {
                wanted == number
                    || (wanted.is_f64() != number.is_f64() && wanted.as_f64() == number.as_f64())
            }
            (Self::Is(wanted), value) => wanted == value,
        }
    }
}
