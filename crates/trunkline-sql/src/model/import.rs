//! Imports: batches of records, with a checkpoint in the same transaction.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::change::OnConflict;
use super::error::Error;
use super::exact_json;

/// Inserts records, each of which may be rejected, in one transaction.
#[derive(Clone, Debug)]
pub struct ImportBatch {
    /// The name of the table. Case is ignored.
    pub table_name: String,
    /// The records.
    pub records: Vec<ImportRecord>,
    /// The resolution of conflicts. With [`OnConflict::Abort`], the record is rejected.
    pub on_conflict: OnConflict,
    /// Whether all values are [fields of CSV](super::file_value::csv_field).
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

impl ImportRecord {
    /// The record as one that an error has rejected.
    #[must_use]
    pub fn rejected(&self, error: &Error) -> RejectedRecord {
        let text = |(name, value): (&String, &Json)| (name.clone(), exact_json::with_texts(value));
        RejectedRecord {
            line: self.line,
            column: error.details().column,
            reason: error.to_string(),
            record: Some(Json::Object(self.data.iter().map(text).collect())),
        }
    }
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
    /// The column at fault, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
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
