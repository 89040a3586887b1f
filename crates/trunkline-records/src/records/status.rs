//! The number of records, and the values of their fields.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Records;
use crate::command::Command;
use crate::declaration::{Field, FieldType, RecordType, Verb, json_equal};
use crate::error::Error;
use crate::record::{self, Record};
use crate::store::Tables;

#[derive(Serialize)]
struct Status<'a> {
    resource: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    counts: Counts<'a>,
    commands: Vec<&'static str>,
    schema: Value,
}

#[derive(Serialize)]
struct Counts<'a> {
    total: u64,
    /// The number of records that `fields` counts.
    counted: u64,
    /// Number of records by value, for fields with a known set of values.
    fields: BTreeMap<&'a str, BTreeMap<String, u64>>,
}

impl Records {
    pub(super) async fn status(
        &self,
        kind: &RecordType,
        command: Command,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        super::check_no_id(&command)?;
        super::check_empty_payload(&command)?;
        let (kind, max_scan) = (kind.clone(), self.0.config.max_scan);
        let read = move |connection: &_, until| {
            let counts = Counts::of(&kind, &Tables::with_time(connection, until), max_scan)?;
            let status = Status {
                resource: kind.name(),
                description: kind.description(),
                counts,
                commands: Verb::ALL.iter().map(|verb| verb.as_str()).collect(),
                schema: kind.schema(),
            };
            Ok::<_, Error>(record::json(&status))
        };
        self.0.store.scan(cancel.cancelled(), read).await
    }
}

impl<'a> Counts<'a> {
    fn of(kind: &'a RecordType, store: &Tables<'_>, max_scan: usize) -> Result<Self, Error> {
        let countable = kind.fields().iter().filter_map(|field| {
            let counts = values(field)?.map(|value| (key(&value), 0)).collect();
            Some((field.name(), counts))
        });
        let total = store.count(kind.name())?;
        let mut counts = Self { total, counted: 0, fields: countable.collect() };
        if counts.fields.is_empty() {
            return Ok(Self { counted: total, ..counts });
        }
        let most = u64::try_from(max_scan).unwrap_or(u64::MAX);
        store.scan(kind.name(), None, |id, row| {
            if counts.counted >= most || !store.has_time() {
                return Ok(ControlFlow::Break(()));
            }
            counts.add(kind, &Record::new(kind, id, &row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(counts)
    }

    fn add(&mut self, kind: &RecordType, record: &Record<'_>) {
        self.counted += 1;
        for (name, counts) in &mut self.fields {
            let value = record.field(name).map(|value| key(as_declared(kind, name, value)));
            if let Some(count) = value.and_then(|value| counts.get_mut(&value)) {
                *count += 1;
            }
        }
    }
}

/// The possible values of a field, if it has a known set of values.
fn values(field: &Field) -> Option<Box<dyn Iterator<Item = Value> + '_>> {
    match (field.allowed(), field.kind()) {
        (Some(allowed), _) => Some(Box::new(allowed.iter().cloned())),
        (None, FieldType::Boolean) => Some(Box::new([false, true].into_iter().map(Value::Bool))),
        _ => None,
    }
}

/// The value as its field's `enum` declares it: 1 may be stored as 1.0.
fn as_declared<'v>(kind: &'v RecordType, name: &str, value: &'v Value) -> &'v Value {
    let allowed = kind.field(name).and_then(Field::allowed).unwrap_or_default();
    allowed.iter().find(|one| json_equal(one, value)).unwrap_or(value)
}

fn key(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // 1.0 and 1 are the same JSON number.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|number| number.to_string()).unwrap_or_default()
        }
        value => value.to_string(),
    }
}
