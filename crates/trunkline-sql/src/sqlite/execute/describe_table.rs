use std::time::Instant;

use crate::model::describe::{
    ColumnDescription, DescribeTable, ForeignKey, Generated, Index, TableDescription, Trigger,
};
use crate::model::error::Error;
use crate::model::rowset::{Bounds, Rowset};
use crate::model::schema::{Column, Table, Visibility};
use crate::query::select::select;
use crate::sqlite::collect::Collector;
use crate::sqlite::schema;
use crate::sqlite::session::Session;
use crate::sqlite::value;

const MAX_SAMPLE_ROWS: u64 = 5;

pub(crate) fn describe_table(
    session: &mut Session<'_>,
    request: &DescribeTable,
) -> Result<TableDescription, Error> {
    let sample_rows = request.sample_rows.unwrap_or(0);
    if sample_rows > MAX_SAMPLE_ROWS {
        let reason = format!("the maximum is {MAX_SAMPLE_ROWS}");
        return Err(Error::argument("sample_rows", reason));
    }
    let table = session.table(&request.table_name)?;
    let sample = match sample_rows {
        0 => None,
        rows => Some(sample(session, &table, rows)?),
    };
    let key = table.primary_key();
    let mut unreadable = table.unreadable_columns.clone();
    Ok(TableDescription {
        primary_key: key.iter().map(|column| column.name.clone()).collect(),
        foreign_keys: foreign_keys(session, &table.name)?,
        indexes: indexes(session, &table.name, &mut unreadable)?,
        triggers: triggers(session, &table.name, &mut unreadable)?,
        ddl: schema::ddl(session, &table.name)?,
        columns: columns(&table),
        kind: table.kind,
        name: table.name.clone(),
        unreadable,
        sample,
        description: None,
    })
}

fn columns(table: &Table) -> Vec<ColumnDescription> {
    let key = table.primary_key();
    let is_row_number = |declared_type: &str| {
        key.len() == 1 && !table.without_rowid && declared_type.eq_ignore_ascii_case("INTEGER")
    };
    let describe = |column: &Column| ColumnDescription {
        name: column.name.clone(),
        base_type: None,
        checks: Vec::new(),
        values: Vec::new(),
        nullable: !(column.not_null
            || (column.key_place > 0 && is_row_number(&column.declared_type))),
        declared_type: Some(column.declared_type.clone()).filter(|name| !name.is_empty()),
        default: column.default.clone(),
        generated: match column.visibility {
            Visibility::GeneratedVirtual => Some(Generated::Virtual),
            Visibility::GeneratedStored => Some(Generated::Stored),
            Visibility::Normal | Visibility::Hidden => None,
        },
        masked: column.mask,
        description: None,
    };
    table.visible_columns().map(describe).collect()
}

pub(super) fn foreign_keys(
    session: &mut Session<'_>,
    table: &str,
) -> Result<Vec<ForeignKey>, Error> {
    let parts = session.rows(
        "SELECT id, \"from\", \"to\", \"table\", on_update, on_delete \
         FROM pragma_foreign_key_list(?1) ORDER BY id, seq",
        &[table],
        |row| {
            let key = ForeignKey {
                columns: vec![value::some_text(row, 1)?],
                references_columns: value::text(row, 2)?.into_iter().collect(),
                references_table: value::some_text(row, 3)?,
                on_update: row.get(4)?,
                on_delete: row.get(5)?,
            };
            Ok((row.get::<_, i64>(0)?, key))
        },
    )?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    for (id, part) in parts {
        match keys.last_mut() {
            Some((last, key)) if *last == id => {
                key.columns.extend(part.columns);
                key.references_columns.extend(part.references_columns);
            }
            _ => keys.push((id, part)),
        }
    }
    let rules = &session.config().rules;
    let keys = keys.into_iter().map(|(_, key)| key);
    Ok(keys.filter(|key| rules.is_visible(None, &key.references_table)).collect())
}

pub(super) fn indexes(
    session: &mut Session<'_>,
    table: &str,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Index>, Error> {
    let found = session.rows(
        "SELECT list.name, list.\"unique\", list.partial, \
         (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name) \
         FROM pragma_index_list(?1) AS list ORDER BY list.name",
        &[table],
        |row| {
            let (unique, partial, ddl) = (row.get(1)?, row.get(2)?, value::text(row, 3)?);
            let index = |name| Index { name, unique, partial, columns: Vec::new(), ddl };
            Ok(value::name(row, 0)?.map(index))
        },
    )?;
    let mut indexes = readable(found, unreadable);
    for index in &mut indexes {
        index.columns = session.rows(
            "SELECT name FROM pragma_index_info(?1) ORDER BY seqno",
            &[&index.name],
            |row| value::text(row, 0),
        )?;
    }
    Ok(indexes)
}

fn triggers(
    session: &mut Session<'_>,
    table: &str,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Trigger>, Error> {
    let found = session.rows(
        "SELECT name, sql FROM sqlite_schema \
         WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE ORDER BY name",
        &[table],
        |row| {
            let ddl = value::some_text(row, 1)?;
            Ok(value::name(row, 0)?.map(|name| Trigger { name, ddl }))
        },
    )?;
    let mut triggers = Vec::new();
    for trigger in readable(found, unreadable) {
        if !schema::mentions_hidden(session, &trigger.ddl)? {
            triggers.push(trigger);
        }
    }
    Ok(triggers)
}

/// Moves names that are not valid UTF-8 to `unreadable`.
fn readable<T>(found: Vec<Result<T, String>>, unreadable: &mut Vec<String>) -> Vec<T> {
    let readable = |one: Result<T, String>| one.map_err(|shown| unreadable.push(shown)).ok();
    found.into_iter().filter_map(readable).collect()
}

fn sample(session: &mut Session<'_>, table: &Table, rows: u64) -> Result<Rowset, Error> {
    let started = Instant::now();
    let columns = table.visible_columns().map(|column| table.dialect.column(&column.name));
    let sql = format!("{} LIMIT {rows}", select(columns, table));
    let bounds = Bounds { max_rows: rows, max_bytes: session.config().limits.max_bytes };
    let masks = table.visible_masks(&session.config().rules);
    let mut rows = Collector::new(bounds, started).masked_by(masks);
    let collected = session.with_statement(&sql, |statement| rows.take(statement));
    collected.map_err(|error| error.on_table(&table.name))?;
    let sample = rows.finish()?;
    Ok(sample.with_hint(|_| "use query_records for the other rows".to_owned()))
}
