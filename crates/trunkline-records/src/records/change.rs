//! Create, update and delete, in a transaction.

use std::collections::BTreeMap;
use std::mem::size_of;

use serde_json::{Map, Value};

use super::{Mode, RecordChange, not_found};
use crate::command::{Command, Metadata, RecordId};
use crate::declaration::{RecordType, Verb};
use crate::error::Error;
use crate::record::{self, Record};
use crate::store::{IdState, Row, StateId, Tables, now};

/// A validated command that changes a record.
pub(super) struct Change {
    kind: RecordType,
    verb: Verb,
    id: RecordId,
    payload: Map<String, Value>,
    if_version: Option<u64>,
    mode: Mode,
}

/// The outcome of a change.
pub(super) struct ChangeOutcome {
    pub(super) id: RecordId,
    pub(super) before: IdState,
    pub(super) after: StateId,
    pub(super) reply: String,
}

impl ChangeOutcome {
    /// The change of the record, if it was changed.
    pub(super) fn record_change(&self, resource: &str) -> Option<RecordChange> {
        (self.before.state_id() != self.after)
            .then(|| RecordChange { resource: resource.to_owned(), id: self.id.to_string() })
    }
}

impl Change {
    pub(super) fn new(
        kind: &RecordType,
        verb: Verb,
        command: Command,
        mode: Mode,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let id = match verb {
            Verb::Create => match &command.id {
                Some(id) => id.clone(),
                // A repetition could not be detected.
                None if mode == Mode::Repeat && command.metadata.request_id.is_none() => {
                    let reason = "a repeated create needs an id or metadata.requestId";
                    return Err(Error::invalid(&["id"], reason));
                }
                None => RecordId::generate(),
            },
            _ => super::required_id(&command)?,
        };
        if verb == Verb::Delete {
            super::check_empty_payload(&command)?;
        }
        let Command { payload, metadata: Metadata { if_version, .. }, .. } = command;
        if verb == Verb::Create && if_version.is_some() {
            let reason = "create does not support ifVersion; remove it";
            return Err(Error::invalid(&["metadata", "ifVersion"], reason));
        }
        // A record is at least as large as its payload; null means a missing field.
        let sent = payload.values().filter(|value| !value.is_null());
        let bytes = sent.map(|value| record::json(value).len()).sum();
        if bytes > max_bytes {
            return Err(too_large(kind, bytes, max_bytes));
        }
        Ok(Self { kind: kind.clone(), verb, id, payload, if_version, mode })
    }

    /// The approximate memory that the change holds, in bytes.
    pub(super) fn weight(&self) -> usize {
        weight_of_members(&self.payload)
    }

    pub(super) fn resource(&self) -> &str {
        self.kind.name()
    }

    pub(super) fn verb(&self) -> Verb {
        self.verb
    }

    /// Applies the change. If it fails, it has no effect.
    pub(super) fn apply(
        &self,
        store: &Tables<'_>,
        max_bytes: usize,
    ) -> Result<ChangeOutcome, Error> {
        let payload = self.payload.clone();
        let before = store.state(self.kind.name(), self.id.as_str())?;
        let after = match (self.verb, before.record()) {
            (Verb::Create, None) => {
                IdState::Record(self.created(before.version() + 1, payload, max_bytes)?)
            }
            (Verb::Create, Some(_)) | (Verb::Delete, None) if self.mode == Mode::Repeat => {
                before.clone()
            }
            (Verb::Create, Some(_)) => {
                let (resource, id) = (self.kind.name().to_owned(), self.id.to_string());
                return Err(Error::Exists { resource, id });
            }
            (_, None) => return Err(not_found(&self.kind, &self.id)),
            (Verb::Delete, Some(row)) => {
                self.check_version(row)?;
                IdState::Absent { version: row.version, state: row.version }
            }
            (_, Some(row)) => IdState::Record(self.updated(row, payload, max_bytes)?),
        };
        if after != before {
            match &after {
                IdState::Record(row) => store.put(self.kind.name(), self.id.as_str(), row)?,
                IdState::Absent { state, .. } => {
                    store.remove(self.kind.name(), self.id.as_str(), *state)?;
                }
            }
        }
        let reply = match &after {
            IdState::Record(row) => record::text(&self.kind, &self.id, row)?,
            IdState::Absent { .. } => "null".to_owned(),
        };
        Ok(ChangeOutcome { id: self.id.clone(), before, after: after.state_id(), reply })
    }

    fn created(
        &self,
        version: u64,
        payload: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<Row, Error> {
        let fields = record::created(&self.kind, payload)?;
        let fields = self.text(&fields, max_bytes)?;
        let now = now();
        Ok(Row { fields, version, state: version, created_at: now, updated_at: now })
    }

    fn updated(
        &self,
        row: &Row,
        payload: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<Row, Error> {
        let record = Record::new(&self.kind, self.id.as_str(), row)?;
        let merged = record::merged(&self.kind, record.fields().clone(), payload)?;
        if self.mode == Mode::Repeat && record.has_fields(&merged) {
            return Ok(row.clone());
        }
        self.check_version(row)?;
        let fields = self.text(&merged, max_bytes)?;
        let version = row.version + 1;
        let updated_at = now().max(row.updated_at);
        Ok(Row { fields, version, state: version, created_at: row.created_at, updated_at })
    }

    fn check_version(&self, row: &Row) -> Result<(), Error> {
        match self.if_version {
            Some(expected) if expected != row.version => Err(Error::VersionMismatch {
                resource: self.kind.name().to_owned(),
                id: self.id.to_string(),
                expected,
                found: row.version,
            }),
            _ => Ok(()),
        }
    }

    /// The JSON text to store. Fields that the type no longer declares do not count, since callers cannot remove them.
    fn text(&self, fields: &Map<String, Value>, max_bytes: usize) -> Result<String, Error> {
        let text = record::json(fields);
        if text.len() <= max_bytes {
            return Ok(text);
        }
        let is_declared = |(name, _): &(&String, &Value)| self.kind.field(name).is_some();
        let declared: BTreeMap<_, _> = fields.iter().filter(is_declared).collect();
        let bytes = record::json(&declared).len();
        if bytes <= max_bytes {
            return Ok(text);
        }
        Err(too_large(&self.kind, bytes, max_bytes))
    }
}

fn too_large(kind: &RecordType, bytes: usize, max_bytes: usize) -> Error {
    let name = kind.name();
    let reason = format!("a {name} can have up to {max_bytes} bytes, this one would have {bytes}");
    Error::invalid(&[], reason)
}

/// The memory of a payload while its command waits, in bytes.
fn weight_of_members(members: &Map<String, Value>) -> usize {
    members
        .iter()
        .map(|(name, value)| size_of::<String>() + name.len() + weight_of_value(value))
        .sum()
}

fn weight_of_value(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight_of_value).sum(),
        Value::Object(members) => weight_of_members(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + content
}
