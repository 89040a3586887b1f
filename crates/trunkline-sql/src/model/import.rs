//! Imports: batches of records, with a checkpoint in the same transaction.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::change::OnConflict;
use super::exact_json;
use super::schema::{Column, Dialect};
use super::value::has_marker;

/// Inserts records, each of which may be rejected, in one transaction.
#[derive(Clone, Debug)]
pub struct ImportBatch {
    /// The name of the table. Case is ignored.
    pub table_name: String,
    /// The records.
    pub records: Vec<ImportRecord>,
    /// The resolution of conflicts. With [`OnConflict::Abort`], the record is rejected.
    pub on_conflict: OnConflict,
    /// Whether all values are texts, as in CSV, so that numbers and the objects of results are read from them.
    pub are_texts: bool,
    /// The state of the import after the batch, if it can be resumed.
    pub checkpoint: Option<Checkpoint>,
}

/// A record with its place in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportRecord {
    /// The number of its first line.
    pub line: u64,
    /// The values by column name.
    pub data: Map<String, Json>,
}

/// The result of a batch.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Imported {
    /// Number of inserted rows.
    pub inserted: u64,
    /// The rejected records.
    pub rejected: Vec<RejectedRecord>,
}

/// A record that was not imported.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectedRecord {
    /// The number of its first line.
    pub line: u64,
    /// The reason.
    pub reason: String,
    /// The record, unless it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Json>,
}

/// The state of an import, in the table [`CHECKPOINT_TABLE`] of the database. It is saved in the transaction of a
/// batch, so that an interrupted import neither loses nor repeats records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The id of the import.
    pub id: String,
    /// The state, which only the caller reads.
    pub state: Json,
    /// The rejected records of the last batch. When a batch is imported, those that it rejects are added.
    pub rejected: Vec<RejectedRecord>,
}

/// A request for the checkpoint of an import.
#[derive(Clone, Debug)]
pub enum CheckpointRequest {
    /// Creates it, and its table if it is missing.
    Begin(Checkpoint),
    /// Returns it, if it exists.
    Read {
        /// The id of the import.
        id: String,
    },
    /// Removes it, and its table if that is empty and the isolation level is READ COMMITTED.
    End {
        /// The id of the import.
        id: String,
    },
}

/// The table of checkpoints, which exists during imports.
pub const CHECKPOINT_TABLE: &str = "trunkline_import";

/// Whether a table is that of checkpoints, which callers do not see: it contains rejected records of any table.
pub(crate) fn is_checkpoint_table(name: &str) -> bool {
    name.eq_ignore_ascii_case(CHECKPOINT_TABLE)
}

/// A value of a text file as JSON: an object of a result, such as `{"$blob": …}`, a list for an array, or a text.
pub(crate) fn read_text(text: &str, column: &Column, dialect: Dialect) -> Json {
    if dialect == Dialect::Postgres && ["json", "jsonb"].contains(&column.declared_type.as_str()) {
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
        return if is_json { exact_json::raw(text) } else { text.into() };
    }
    let is_array = dialect == Dialect::Postgres && column.declared_type.ends_with("[]");
    let json = match text.as_bytes().first() {
        Some(b'{') if text.starts_with("{\"$") => exact_json::parse(text).ok(),
        Some(b'[') if is_array => exact_json::parse(text).ok(),
        _ => None,
    };
    match json {
        Some(Json::Object(fields)) if has_marker(&fields) => Json::Object(fields),
        Some(list @ Json::Array(_)) => list,
        _ => text.into(),
    }
}
