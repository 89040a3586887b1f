use rusqlite::Statement;
use rusqlite::types::Value as Bound;

use crate::model::error::Error;
use crate::model::import::{
    CHECKPOINT_TABLE, Checkpoint, CheckpointRequest, ImportBatch, Imported,
};
use crate::query::change::{self, Record};
use crate::query::import::{is_of_record, record};
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn import_batch(
    session: &mut Session<'_>,
    batch: &ImportBatch,
) -> Result<Imported, Error> {
    let table = session.table(&batch.table_name)?;
    let mut imported = Imported::default();
    let mut compiled: Option<(Vec<&str>, Statement<'_>)> = None;
    for one in &batch.records {
        let inserted = record(&table, batch, one).and_then(|Record { columns, values }| {
            let statement = match compiled.take() {
                Some((known, statement)) if known == columns => statement,
                _ => session.prepare(&change::insert(&table, &columns, batch.on_conflict)?)?,
            };
            let (_, statement) = compiled.insert((columns, statement));
            value::bind(statement, &values)?;
            Ok(statement.raw_execute()?)
        });
        match inserted {
            Ok(rows) => imported.inserted += rows as u64,
            // A trigger may have rolled the transaction back.
            Err(error) if is_of_record(&error) && !session.connection().is_autocommit() => {
                let error = error.on_table(&table.name);
                imported.rejected.push(one.rejected(&error));
            }
            Err(error) => return Err(error.on_table(&table.name)),
        }
    }
    drop(compiled);
    if let Some(checkpoint) = &batch.checkpoint {
        let mut checkpoint = checkpoint.clone();
        checkpoint.rejected.extend(imported.rejected.iter().cloned());
        let sql = format!("UPDATE {CHECKPOINT_TABLE} SET checkpoint = ?2 WHERE id = ?1");
        if run(session, &sql, vec![checkpoint.id.clone(), text(&checkpoint)])? != 1 {
            return Err(Error::argument("checkpoint", "the import has no checkpoint"));
        }
    }
    Ok(imported)
}

pub(crate) fn checkpoint(
    session: &mut Session<'_>,
    request: &CheckpointRequest,
) -> Result<Option<Checkpoint>, Error> {
    let exists = session.rows(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1",
        &[CHECKPOINT_TABLE],
        |_| Ok(()),
    )?;
    let exists = !exists.is_empty();
    match request {
        CheckpointRequest::Begin(checkpoint) => {
            let table = format!(
                "CREATE TABLE IF NOT EXISTS {CHECKPOINT_TABLE} (id TEXT PRIMARY KEY, checkpoint TEXT NOT NULL)"
            );
            run(session, &table, Vec::new())?;
            let sql = format!("INSERT INTO {CHECKPOINT_TABLE} (id, checkpoint) VALUES (?1, ?2)");
            run(session, &sql, vec![checkpoint.id.clone(), text(checkpoint)])?;
        }
        CheckpointRequest::Read { id } if exists => {
            let sql = format!("SELECT checkpoint FROM {CHECKPOINT_TABLE} WHERE id = ?1");
            let found = session.rows(&sql, &[id], |row| value::some_text(row, 0))?;
            return Ok(found.first().and_then(|text| serde_json::from_str(text).ok()));
        }
        CheckpointRequest::End { id } if exists => {
            run(
                session,
                &format!("DELETE FROM {CHECKPOINT_TABLE} WHERE id = ?1"),
                vec![id.clone()],
            )?;
            let others =
                session
                    .rows(&format!("SELECT 1 FROM {CHECKPOINT_TABLE} LIMIT 1"), &[], |_| Ok(()))?;
            if others.is_empty() {
                run(session, &format!("DROP TABLE {CHECKPOINT_TABLE}"), Vec::new())?;
            }
        }
        CheckpointRequest::Read { .. } | CheckpointRequest::End { .. } => {}
    }
    Ok(None)
}

/// Runs a statement of this crate, and returns the number of changed rows.
fn run(session: &Session<'_>, sql: &str, params: Vec<String>) -> Result<usize, Error> {
    let params = params.into_iter().map(Bound::Text);
    Ok(session.prepare(sql)?.execute(rusqlite::params_from_iter(params))?)
}

fn text(checkpoint: &Checkpoint) -> String {
    serde_json::to_string(checkpoint).expect("texts and numbers serialise into memory")
}
