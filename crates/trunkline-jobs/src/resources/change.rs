//! What create, update and delete do, in a transaction.

use std::mem;

use serde_json::{Map, Value};

use super::{Mode, not_found};
use crate::command::{Command, Metadata, RecordId};
use crate::error::Error;
use crate::record::{self, Record};
use crate::store::{Row, Writing};
use crate::types::{ResourceType, Verb};

/// A command that changes a record, checked as far as that needs no store.
pub(super) struct Change {
    kind: ResourceType,
    verb: Verb,
    id: RecordId,
    payload: Map<String, Value>,
    if_version: Option<u64>,
    mode: Mode,
}

/// What a change came to: how the record was, how it is, and what its caller is answered.
pub(super) struct Changed {
    pub(super) id: RecordId,
    pub(super) before: Option<Row>,
    pub(super) after: Option<Row>,
    pub(super) reply: String,
}

impl Change {
    pub(super) fn new(
        kind: &ResourceType,
        verb: Verb,
        command: Command,
        mode: Mode,
    ) -> Result<Self, Error> {
        let id = match verb {
            Verb::Create => command.id.clone().unwrap_or_else(RecordId::generate),
            _ => super::addressed(&command)?,
        };
        if verb == Verb::Delete {
            super::nothing_else(&command)?;
        }
        let Command { payload, metadata: Metadata { if_version, .. }, .. } = command;
        if verb == Verb::Create && if_version.is_some() {
            let reason = "a record that is to be created has no version: leave ifVersion out";
            return Err(Error::invalid(&["metadata", "ifVersion"], reason));
        }
        Ok(Self { kind: kind.clone(), verb, id, payload, if_version, mode })
    }

    pub(super) fn resource(&self) -> &str {
        self.kind.name()
    }

    pub(super) fn verb(&self) -> Verb {
        self.verb
    }

    /// Makes the change, and nothing of it if it fails.
    pub(super) fn make(mut self, store: &Writing<'_>, max_bytes: usize) -> Result<Changed, Error> {
        let payload = mem::take(&mut self.payload);
        let before = store.record(self.kind.name(), self.id.as_str())?;
        let after = match (self.verb, &before) {
            (Verb::Create, None) => Some(self.created(store, payload, max_bytes)?),
            (Verb::Create, Some(row)) if self.mode == Mode::Repeat => Some(row.clone()),
            (Verb::Create, Some(_)) => {
                let (resource, id) = (self.kind.name().to_owned(), self.id.to_string());
                return Err(Error::Exists { resource, id });
            }
            (Verb::Delete, None) if self.mode == Mode::Repeat => None,
            (_, None) => return Err(not_found(&self.kind, &self.id)),
            (Verb::Delete, Some(row)) => {
                self.check_version(row)?;
                None
            }
            (_, Some(row)) => Some(self.updated(row, payload, max_bytes)?),
        };
        match (&before, &after) {
            (before, Some(after)) if before.as_ref() != Some(after) => {
                store.put(self.kind.name(), self.id.as_str(), after)?;
            }
            (Some(_), None) => store.remove(self.kind.name(), self.id.as_str())?,
            _ => {}
        }
        let reply = match &after {
            Some(row) => record::text(&self.kind, &self.id, row)?,
            None => "null".to_owned(),
        };
        Ok(Changed { id: self.id, before, after, reply })
    }

    fn created(
        &self,
        store: &Writing<'_>,
        payload: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<Row, Error> {
        let fields = record::created(&self.kind, payload)?;
        let fields = self.text(&fields, max_bytes)?;
        let version = store.last_version(self.kind.name(), self.id.as_str())? + 1;
        let now = record::now();
        Ok(Row { fields, version, state: version, created_at: now, updated_at: now })
    }

    fn updated(
        &self,
        row: &Row,
        payload: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<Row, Error> {
        let fields = Record::new(&self.kind, self.id.as_str(), row)?.into_fields();
        let merged = record::merged(&self.kind, fields.clone(), payload)?;
        if self.mode == Mode::Repeat && merged == fields {
            return Ok(row.clone());
        }
        self.check_version(row)?;
        let fields = self.text(&merged, max_bytes)?;
        let version = row.version + 1;
        let updated_at = record::now().max(row.updated_at);
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

    fn text(&self, fields: &Map<String, Value>, max_bytes: usize) -> Result<String, Error> {
        let text = record::json(fields);
        if text.len() > max_bytes {
            let name = self.kind.name();
            let reason = format!(
                "a {name} has at most {max_bytes} bytes, and this one would have {}",
                text.len()
            );
            return Err(Error::invalid(&[], reason));
        }
        Ok(text)
    }
}
