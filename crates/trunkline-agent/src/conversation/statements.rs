//! The records of conversations, and the SQL statements on them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::JsonSchema;
use trunkline_storage::{Connection, Row, StoreError};

use super::config::ConversationConfig;
use super::truncate::truncate_messages;
use crate::model::Message;

/// A conversation without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Summary {
    /// Its id.
    pub conversation_id: String,
    /// The beginning of its first message.
    pub title: String,
    /// The time of its first turn: milliseconds since 1970, UTC.
    pub created_ms: i64,
    /// The time of its last turn.
    pub updated_ms: i64,
    /// The number of stored messages.
    pub messages: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A call that is waiting for confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingCall {
    /// The token that confirms it.
    pub(crate) token: String,
    pub(crate) tool: String,
    /// The operation when the call was proposed.
    #[serde(default)]
    pub(crate) identity: Identity,
    pub(crate) arguments: Map<String, Value>,
    /// The message that proposed it, with only this call.
    #[serde(default)]
    pub(crate) message: Option<Message>,
}

/// The identity of an operation: its name, and a hash that differs if another operation has the name later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) operation: String,
    pub(crate) fingerprint: u64,
}

/// The messages of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) messages: Vec<Message>,
    /// The number of its last turn; 0 for a new conversation.
    pub(crate) last_turn: i64,
}

/// A turn to save.
#[derive(Debug)]
pub(crate) struct SavedTurn {
    pub(crate) caller: String,
    pub(crate) conversation: String,
    /// The title of a new conversation. Any other must exist.
    pub(crate) title: Option<String>,
    /// The number of the last turn that this one has read. It must still be the last one, since other processes can
    /// use the store.
    pub(crate) last_turn: i64,
    pub(crate) messages: Vec<Message>,
    pub(crate) pending: Option<PendingCall>,
}

/// Whether a turn was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveOutcome {
    Saved,
    /// The conversation has been deleted.
    Deleted,
    /// Another turn has been saved since the conversation was read.
    Changed,
}

pub(super) fn transcript(
    connection: &Connection,
    caller: &str,
    conversation: &str,
) -> Result<Option<Transcript>, StoreError> {
    if !exists(connection, caller, conversation)? {
        return Ok(None);
    }
    let sql = "SELECT number, messages FROM turn WHERE conversation = ?1 ORDER BY number";
    let read = |row: &Row<'_>| Ok((row.get(0)?, from_json::<Vec<Message>>(&row.text(1)?)?));
    let turns: Vec<(i64, _)> = connection.query_all(sql, &[conversation.into()], read)?;
    let last_turn = turns.last().map_or(0, |(number, _)| *number);
    let messages = turns.into_iter().flat_map(|(_, messages)| messages).collect();
    Ok(Some(Transcript { messages, last_turn }))
}

/// Saves a turn unless its conversation has changed. Writes are never concurrent, so the check holds until the commit.
pub(super) fn save(
    connection: &Connection,
    config: &ConversationConfig,
    turn: &SavedTurn,
) -> Result<SaveOutcome, StoreError> {
    let SavedTurn { caller, conversation, title, last_turn, messages, pending } = turn;
    if title.is_none() && !exists(connection, caller, conversation)? {
        return Ok(SaveOutcome::Deleted);
    }
    let sql = "SELECT max(number) FROM turn WHERE conversation = ?1";
    let last: Option<Option<i64>> =
        connection.query_row(sql, &[conversation.into()], |row| row.get(0))?;
    if last.flatten().unwrap_or_default() != *last_turn {
        return Ok(SaveOutcome::Changed);
    }
    let messages = truncate_messages(messages.clone(), config.max_bytes);
    let now = now();
    let pending_until = pending.as_ref().map(|_| now + millis(config.pending_age));
    let pending = pending.as_ref().map(to_json).transpose()?;
    // The agent generates the ids, so an existing one belongs to the same caller.
    connection.execute(
        "INSERT INTO conversation VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE SET \
         updated_ms = excluded.updated_ms, pending = excluded.pending, \
         pending_until_ms = excluded.pending_until_ms",
        &[
            conversation.into(),
            caller.into(),
            title.as_deref().unwrap_or_default().into(),
            now.into(),
            pending.as_deref().into(),
            pending_until.into(),
        ],
    )?;
    let bytes: usize = messages.iter().map(Message::bytes).sum();
    connection.execute(
        "INSERT INTO turn VALUES (?1, ?2, ?3, ?4, ?5)",
        &[
            conversation.into(),
            (last_turn + 1).into(),
            (&to_json(&messages)?).into(),
            integer(messages.len()).into(),
            integer(bytes).into(),
        ],
    )?;
    delete_excess_turns(connection, config, conversation)?;
    delete_excess_conversations(connection, config, caller)?;
    Ok(SaveOutcome::Saved)
}

pub(super) fn take_pending(
    connection: &Connection,
    config: &ConversationConfig,
    (caller, conversation): (&str, &str),
    token: &str,
) -> Result<Option<PendingCall>, StoreError> {
    let sql = "SELECT pending FROM conversation \
               WHERE id = ?1 AND caller = ?2 AND pending_until_ms > ?3 AND pending_until_ms <= ?4";
    // A clock that is set back does not extend the lifetime.
    let until = now() + millis(config.pending_age);
    let params = [conversation.into(), caller.into(), now().into(), until.into()];
    let pending: Option<Option<String>> = connection.query_row(sql, &params, |row| row.get(0))?;
    let pending: Option<PendingCall> = pending.flatten().as_deref().map(from_json).transpose()?;
    let Some(pending) = pending.filter(|pending| pending.token == token) else { return Ok(None) };
    connection.execute(
        "UPDATE conversation SET pending = NULL, pending_until_ms = NULL WHERE id = ?1",
        &[conversation.into()],
    )?;
    Ok(Some(pending))
}

pub(super) fn list(
    connection: &Connection,
    config: &ConversationConfig,
    caller: &str,
) -> Result<Vec<Summary>, StoreError> {
    let sql = "SELECT id, title, created_ms, updated_ms, \
         (SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM turn WHERE conversation = id), \
         (SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM turn WHERE conversation = id) \
         FROM conversation WHERE caller = ?1 AND updated_ms >= ?2 \
         ORDER BY updated_ms DESC, id DESC LIMIT ?3";
    let (oldest, most) = (now() - millis(config.max_age), integer(config.max_conversations));
    connection.query_all(sql, &[caller.into(), oldest.into(), most.into()], |row| {
        Ok(Summary {
            conversation_id: row.get(0)?,
            title: row.get(1)?,
            created_ms: row.get(2)?,
            updated_ms: row.get(3)?,
            messages: row.get(4)?,
            bytes: row.get(5)?,
        })
    })
}

pub(super) fn delete(
    connection: &Connection,
    caller: &str,
    conversation: &str,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM conversation WHERE id = ?1 AND caller = ?2";
    Ok(connection.execute(sql, &[conversation.into(), caller.into()])? > 0)
}

/// Deletes conversations without a turn within `max_age`.
pub(super) fn delete_old(connection: &Connection, max_age: Duration) -> Result<(), StoreError> {
    let sql = "DELETE FROM conversation WHERE updated_ms < ?1";
    connection.execute(sql, &[(now() - millis(max_age)).into()]).map(drop)
}

fn exists(connection: &Connection, caller: &str, conversation: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ?1 AND caller = ?2)";
    let exists =
        connection.query_row(sql, &[conversation.into(), caller.into()], |row| row.get(0))?;
    Ok(exists.unwrap_or_default())
}

/// Deletes the oldest turns of a conversation that exceed its limits.
fn delete_excess_turns(
    connection: &Connection,
    config: &ConversationConfig,
    conversation: &str,
) -> Result<(), StoreError> {
    connection.execute(
        "DELETE FROM turn WHERE conversation = ?1 AND number IN ( \
           SELECT number FROM ( \
             SELECT number, \
               sum(count) OVER newer AS count, sum(bytes) OVER newer AS bytes, \
               max(number) OVER () AS last \
             FROM turn WHERE conversation = ?1 WINDOW newer AS (ORDER BY number DESC) \
           ) AS newest WHERE (count > ?2 OR bytes > ?3) AND number < last)",
        &[
            conversation.into(),
            integer(config.max_messages).into(),
            integer(config.max_bytes).into(),
        ],
    )?;
    Ok(())
}

/// Deletes the oldest conversations of a caller, and of all callers, that exceed their limits.
fn delete_excess_conversations(
    connection: &Connection,
    config: &ConversationConfig,
    caller: &str,
) -> Result<(), StoreError> {
    // The limit is needed by SQLite only.
    connection.execute(
        "DELETE FROM conversation WHERE id IN (SELECT id FROM conversation WHERE caller = ?1 \
         ORDER BY updated_ms DESC, id DESC LIMIT 1000000000 OFFSET ?2)",
        &[caller.into(), integer(config.max_conversations).into()],
    )?;
    connection.execute(
        "DELETE FROM conversation WHERE id IN (SELECT id FROM conversation \
         ORDER BY updated_ms DESC, id DESC LIMIT 1000000000 OFFSET ?1)",
        &[integer(config.max_total).into()],
    )?;
    Ok(())
}

/// Milliseconds since 1970.
fn now() -> i64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Milliseconds, limited to a tenth of the range so that sums do not overflow.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 10)
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(Arc::new(error)))
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Failed(Arc::new(error)))
}
