//! Pages of records.

use std::ops::ControlFlow;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Records;
use crate::command::Command;
use crate::config::RecordsConfig;
use crate::declaration::RecordType;
use crate::error::Error;
use crate::record::{self, Criteria, Record};
use crate::store::Tables;

/// The requested page.
pub(super) struct Paging {
    limit: usize,
    /// The last id of the previous page.
    cursor: Option<String>,
}

impl Paging {
    /// Removes `names` from the payload. Metadata can have both members as well.
    pub(super) fn take(
        command: &mut Command,
        names: &[&str],
        config: &RecordsConfig,
    ) -> Result<Self, Error> {
        let mut paging = Self { limit: config.page.min(config.max_page), cursor: None };
        for name in ["limit", "cursor"] {
            let in_metadata = command.metadata.others.get(name).filter(|value| !value.is_null());
            let in_payload = names.contains(&name).then(|| command.payload.remove(name)).flatten();
            let in_payload = in_payload.filter(|value| !value.is_null());
            if let Some(value) = in_metadata {
                paging.set(name, value, &["metadata", name], config)?;
            }
            if let Some(value) = &in_payload {
                paging.set(name, value, &[name], config)?;
            }
            if in_metadata.zip(in_payload.as_ref()).is_some_and(|(one, other)| one != other) {
                let reason = format!("{name} and metadata.{name} differ; send only one");
                return Err(Error::invalid(&["metadata", name], reason));
            }
        }
        Ok(paging)
    }

    fn set(
        &mut self,
        name: &str,
        value: &Value,
        path: &[&str],
        config: &RecordsConfig,
    ) -> Result<(), Error> {
        match (name, value) {
            ("limit", value) => {
                let limit = value.as_u64().and_then(|limit| usize::try_from(limit).ok());
                let most = config.max_page;
                self.limit = limit.filter(|limit| (1..=most).contains(limit)).ok_or_else(|| {
                    Error::invalid(path, format!("limit must be an integer from 1 to {most}"))
                })?;
            }
            (_, Value::String(cursor)) => self.cursor = Some(cursor.clone()),
            _ => {
                return Err(Error::invalid(
                    path,
                    "cursor must be the nextCursor of the previous page",
                ));
            }
        }
        Ok(())
    }
}

impl Records {
    pub(super) async fn list(
        &self,
        kind: &RecordType,
        mut command: Command,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let paging = Paging::take(&mut command, &["limit", "cursor"], &self.0.config)?;
        super::check_no_id(&command)?;
        super::check_empty_payload(&command)?;
        let (kind, config) = (kind.clone(), self.0.config.clone());
        let read = move |connection: &_, until| {
            read(&Tables::with_time(connection, until), &kind, &paging, None, &config)
        };
        self.0.store.scan(cancel.cancelled(), read).await
    }

    pub(super) async fn filter(
        &self,
        kind: &RecordType,
        mut command: Command,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        // A field with that name is a criterion.
        let is_free = |name: &&str| kind.field(name).is_none();
        let names: Vec<&str> = ["limit", "cursor"].into_iter().filter(is_free).collect();
        let paging = Paging::take(&mut command, &names, &self.0.config)?;
        let mut criteria = command.payload;
        if let Some(id) = command.id {
            let id = Value::from(id.as_str());
            if criteria.get("id").is_some_and(|other| *other != id) {
                let reason = "id and payload.id differ; send only one";
                return Err(Error::invalid(&["id"], reason));
            }
            criteria.insert("id".to_owned(), id);
        }
        let criteria = Criteria::new(kind, criteria);
        let (kind, config) = (kind.clone(), self.0.config.clone());
        let read = move |connection: &_, until| {
            let store = Tables::with_time(connection, until);
            read(&store, &kind, &paging, Some(&criteria), &config)
        };
        self.0.store.scan(cancel.cancelled(), read).await
    }
}

/// The JSON text of a page. It ends when it is full, or when it has reached the limit of scanned records or time.
pub(super) fn read(
    store: &Tables<'_>,
    kind: &RecordType,
    paging: &Paging,
    criteria: Option<&Criteria>,
    config: &RecordsConfig,
) -> Result<String, Error> {
    let mut text = String::from("{\"items\":[");
    let (mut count, mut scanned) = (0, 0);
    // The last id that was read.
    let mut last: Option<String> = None;
    let mut is_last = true;
    store.scan(kind.name(), paging.cursor.as_deref(), |id, row| {
        let is_full = count > 0 && text.len() >= config.max_page_bytes || count >= paging.limit;
        // At least one record is read, since the cursor needs an id.
        let is_exhausted = scanned >= config.max_scan || !store.has_time();
        if scanned > 0 && (is_full || is_exhausted) {
            is_last = false;
            return Ok(ControlFlow::Break(()));
        }
        scanned += 1;
        let record = Record::new(kind, id, &row)?;
        if criteria.is_none_or(|criteria| criteria.match_record(&record)) {
            let item = record::json(&record);
            // The first record is always included.
            if count > 0 && text.len() + item.len() > config.max_page_bytes {
                is_last = false;
                return Ok(ControlFlow::Break(()));
            }
            if count > 0 {
                text.push(',');
            }
            text += &item;
            count += 1;
        }
        match &mut last {
            Some(last) => id.clone_into(last),
            None => last = Some(id.to_owned()),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let next = last.filter(|_| !is_last);
    text += "],\"nextCursor\":";
    text += &record::json(&next);
    text.push('}');
    Ok(text)
}
