use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::model::describe::{
    ColumnDescription, DescribeTable, ForeignKey, Generated, Index, TableDescription, Trigger,
};
use crate::model::error::Error;
use crate::model::rowset::{Bounds, Rowset};
use crate::model::schema::{Column, Table, TableKind, Visibility};
use crate::postgres::catalog::{self, CatalogTable, ColumnFacts, NAME};
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::postgres::visibility::{self, Among};
use crate::query::identifier::quote;
use crate::query::select::select;

const MAX_SAMPLE_ROWS: u64 = 5;

pub(crate) async fn describe_table(
    transaction: &mut Transaction,
    request: &DescribeTable,
) -> Result<TableDescription, Error> {
    let sample_rows = request.sample_rows.unwrap_or(0);
    if sample_rows > MAX_SAMPLE_ROWS {
        let reason = format!("the maximum is {MAX_SAMPLE_ROWS}");
        return Err(Error::argument("sample_rows", reason));
    }
    let found = catalog::find(transaction, &request.table_name).await?;
    let CatalogTable { oid, table, .. } = &found;
    let sample = match sample_rows {
        0 => None,
        rows => Some(sample(transaction, table, rows).await?),
    };
    let types = types(transaction, *oid).await?;
    let columns = table.columns.iter().zip(&found.columns);
    let columns = columns.map(|(one, facts)| column(one, facts, types.get(&one.name)));
    Ok(TableDescription {
        columns: columns.collect(),
        primary_key: table.primary_key().iter().map(|column| column.name.clone()).collect(),
        foreign_keys: foreign_keys(transaction, *oid).await?,
        indexes: indexes(transaction, *oid).await?,
        triggers: triggers(transaction, *oid).await?,
        ddl: Some(ddl(transaction, &found).await?),
        kind: table.kind,
        name: table.full_name(),
        description: found.comment.clone(),
        unreadable: table.unreadable_columns.clone(),
        sample,
    })
}

fn column(column: &Column, facts: &ColumnFacts, types: Option<&TypeFacts>) -> ColumnDescription {
    let generated = match (column.visibility, facts.identity.as_str()) {
        (Visibility::GeneratedVirtual, _) => Some(Generated::Virtual),
        (Visibility::GeneratedStored, _) => Some(Generated::Stored),
        (_, "a") => Some(Generated::IdentityAlways),
        (_, "d") => Some(Generated::Identity),
        _ => None,
    };
    ColumnDescription {
        name: column.name.clone(),
        declared_type: Some(column.declared_type.clone()),
        base_type: column.base_type.clone(),
        checks: types.map(|types| types.checks.clone()).unwrap_or_default(),
        values: types.map(|types| types.values.clone()).unwrap_or_default(),
        nullable: !column.not_null,
        default: column.default.clone(),
        generated,
        masked: column.mask,
        description: facts.comment.clone(),
    }
}

/// The facts of the type of a column that only descriptions use.
#[derive(Default)]
struct TypeFacts {
    /// The conditions of a domain, and of those that it restricts.
    checks: Vec<String>,
    /// The values of an enum.
    values: Vec<String>,
}

/// Domains and enums among the types of the columns, also of the elements of arrays, by the names of the columns.
async fn types(transaction: &Transaction, oid: u32) -> Result<HashMap<String, TypeFacts>, Error> {
    const TYPES: &str = "\
        WITH RECURSIVE part(name, place, oid) AS ( \
            SELECT a.attname::text, 0, a.atttypid FROM pg_catalog.pg_attribute AS a \
            WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped \
            UNION ALL \
            SELECT p.name, p.place + 1, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END \
            FROM part AS p JOIN pg_catalog.pg_type AS t ON t.oid = p.oid \
            WHERE t.typtype = 'd' OR (t.typcategory = 'A' AND t.typelem <> 0)) \
        SELECT p.name, \
        CASE WHEN t.typtype = 'd' AND t.typnotnull THEN ARRAY['NOT NULL'] ELSE '{}' END || \
        ARRAY(SELECT pg_catalog.pg_get_constraintdef(k.oid) FROM pg_catalog.pg_constraint AS k \
              WHERE k.contypid = t.oid AND k.contype = 'c' ORDER BY k.conname), \
        ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum AS e WHERE e.enumtypid = t.oid \
              ORDER BY e.enumsortorder LIMIT 200) \
        FROM part AS p JOIN pg_catalog.pg_type AS t ON t.oid = p.oid WHERE t.typtype IN ('d', 'e') \
        ORDER BY p.name, p.place";
    let mut types: HashMap<String, TypeFacts> = HashMap::new();
    for row in catalog::rows(transaction, TYPES, &[(&oid, Type::OID)]).await? {
        let facts = types.entry(catalog::shown(&row, 0)?.unwrap_or_default()).or_default();
        facts.checks.extend(catalog::shown_list(&row, 1)?);
        facts.values.extend(catalog::shown_list(&row, 2)?);
    }
    Ok(types)
}

async fn foreign_keys(transaction: &Transaction, oid: u32) -> Result<Vec<ForeignKey>, Error> {
    let keys = format!(
        "SELECT (SELECT array_agg(a.attname::text ORDER BY x.place) \
                FROM unnest(k.conkey) WITH ORDINALITY AS x(number, place) \
                JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = x.number), \
        {NAME}, \
        (SELECT array_agg(a.attname::text ORDER BY x.place) \
         FROM unnest(k.confkey) WITH ORDINALITY AS x(number, place) \
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = x.number), \
        k.confupdtype::text, k.confdeltype::text, k.confrelid \
        FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.confrelid \
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE k.conrelid = $1 AND k.contype = 'f' ORDER BY k.conname"
    );
    let found = catalog::rows(transaction, &keys, &[(&oid, Type::OID)]).await?;
    let hidden = hidden_targets(transaction, &found, 5).await?;
    let key = |row: &Row| {
        Ok(ForeignKey {
            columns: row.try_get(0)?,
            references_table: row.try_get(1)?,
            references_columns: row.try_get(2)?,
            on_update: action(row.try_get(3)?),
            on_delete: action(row.try_get(4)?),
        })
    };
    let visible = found.iter().filter(|row| !has_oid(row, 5, &hidden));
    visible.map(key).collect()
}

/// The hidden ones of the relations in a column.
async fn hidden_targets(
    transaction: &Transaction,
    rows: &[Row],
    column: usize,
) -> Result<Vec<u32>, Error> {
    let targets: Vec<u32> = rows.iter().filter_map(|row| row.try_get(column).ok()).collect();
    visibility::hidden(transaction, Among::Oids(&targets)).await
}

fn has_oid(row: &Row, column: usize, oids: &[u32]) -> bool {
    row.try_get(column).is_ok_and(|oid: u32| oids.contains(&oid))
}

/// The action that a letter of `pg_constraint` means.
fn action(letter: &str) -> String {
    let name = match letter {
        "r" => "RESTRICT",
        "c" => "CASCADE",
        "n" => "SET NULL",
        "d" => "SET DEFAULT",
        _ => "NO ACTION",
    };
    name.to_owned()
}

async fn indexes(transaction: &Transaction, oid: u32) -> Result<Vec<Index>, Error> {
    const INDEXES: &str = "\
        SELECT c.relname::text, i.indisunique, i.indpred IS NOT NULL, \
        (SELECT array_agg(a.attname::text ORDER BY x.place) \
         FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS x(number, place) \
         LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = x.number \
         WHERE x.place <= i.indnkeyatts), \
        CASE WHEN NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS k \
                              WHERE k.conindid = i.indexrelid AND k.conrelid = i.indrelid) \
             THEN pg_catalog.pg_get_indexdef(i.indexrelid) END \
        FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid \
        WHERE i.indrelid = $1 ORDER BY c.relname";
    let index = |row: &Row| {
        Ok(Index {
            name: row.try_get(0)?,
            unique: row.try_get(1)?,
            partial: row.try_get(2)?,
            columns: row.try_get(3)?,
            ddl: row.try_get(4)?,
        })
    };
    catalog::rows(transaction, INDEXES, &[(&oid, Type::OID)]).await?.iter().map(index).collect()
}

async fn triggers(transaction: &Transaction, oid: u32) -> Result<Vec<Trigger>, Error> {
    const TRIGGERS: &str = "\
        SELECT tgname::text, pg_catalog.pg_get_triggerdef(oid), tgconstrrelid FROM pg_catalog.pg_trigger \
        WHERE tgrelid = $1 AND NOT tgisinternal ORDER BY tgname";
    let trigger = |row: &Row| Ok(Trigger { name: row.try_get(0)?, ddl: row.try_get(1)? });
    let found = catalog::rows(transaction, TRIGGERS, &[(&oid, Type::OID)]).await?;
    let hidden = hidden_targets(transaction, &found, 2).await?;
    let visible = found.iter().filter(|row| !has_oid(row, 2, &hidden));
    visible.map(trigger).collect()
}

/// A statement that creates the table or view, from the catalogs. PostgreSQL does not store the original one.
async fn ddl(transaction: &Transaction, found: &CatalogTable) -> Result<String, Error> {
    let name = found.table.quoted();
    let view = match found.table.kind {
        TableKind::View => Some("VIEW"),
        TableKind::MaterializedView => Some("MATERIALIZED VIEW"),
        _ => None,
    };
    let oid = &found.oid;
    if let Some(kind) = view {
        const QUERY: &str = "SELECT pg_catalog.pg_get_viewdef($1)";
        let rows = catalog::rows(transaction, QUERY, &[(oid, Type::OID)]).await?;
        let query: String = rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
        return Ok(format!("CREATE {kind} {name} AS\n{query}"));
    }
    const CONSTRAINTS: &str = "\
        SELECT conname::text, pg_catalog.pg_get_constraintdef(oid), confrelid FROM pg_catalog.pg_constraint \
        WHERE conrelid = $1 AND contype IN ('p', 'u', 'f', 'c', 'x') \
        ORDER BY array_position('{p,u,f,c,x}'::\"char\"[], contype), conname";
    let columns = found.table.columns.iter().zip(&found.columns);
    let mut parts: Vec<String> = columns.map(|(column, facts)| definition(column, facts)).collect();
    let constraints = catalog::rows(transaction, CONSTRAINTS, &[(oid, Type::OID)]).await?;
    let hidden = hidden_targets(transaction, &constraints, 2).await?;
    for row in constraints.iter().filter(|row| !has_oid(row, 2, &hidden)) {
        let (name, text): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        parts.push(format!("CONSTRAINT {} {text}", quote(&name)));
    }
    let kind = if found.table.kind == TableKind::Foreign { "FOREIGN TABLE" } else { "TABLE" };
    let mut ddl = format!("CREATE {kind} {name} (\n  {}\n)", parts.join(",\n  "));
    if found.table.kind == TableKind::Partitioned {
        const PARTITION: &str = "SELECT pg_catalog.pg_get_partkeydef($1)";
        for row in catalog::rows(transaction, PARTITION, &[(oid, Type::OID)]).await? {
            ddl.push_str(&format!(" PARTITION BY {}", row.try_get::<_, String>(0)?));
        }
    }
    Ok(ddl)
}

fn definition(column: &Column, facts: &ColumnFacts) -> String {
    let mut text = format!("{} {}", quote(&column.name), column.declared_type);
    if column.not_null {
        text.push_str(" NOT NULL");
    }
    match (column.visibility, &column.default) {
        (Visibility::GeneratedStored, Some(default)) => {
            text.push_str(&format!(" GENERATED ALWAYS AS ({default}) STORED"));
        }
        (Visibility::GeneratedVirtual, Some(default)) => {
            text.push_str(&format!(" GENERATED ALWAYS AS ({default})"));
        }
        (_, Some(default)) => text.push_str(&format!(" DEFAULT {default}")),
        (_, None) => {}
    }
    match facts.identity.as_str() {
        "a" => text.push_str(" GENERATED ALWAYS AS IDENTITY"),
        "d" => text.push_str(" GENERATED BY DEFAULT AS IDENTITY"),
        _ => {}
    }
    text
}

async fn sample(transaction: &mut Transaction, table: &Table, rows: u64) -> Result<Rowset, Error> {
    let columns = table.visible_columns().map(|column| table.dialect.column(&column.name));
    let sql = format!("{} LIMIT {rows}", select(columns, table));
    let max_bytes = transaction.limits().max_bytes;
    let masks = table.visible_masks(transaction.rules());
    let mut collector = Collector::new(Bounds { max_rows: rows, max_bytes }).masked_by(masks);
    let on_table = |error: Error| error.on_table(&table.full_name());
    let statement = transaction.prepare(&sql).await.map_err(on_table)?;
    collector.read(transaction, &statement, Vec::new()).await.map_err(on_table)?;
    let sample = collector.finish()?;
    Ok(sample.with_hint(|_| "use query_records for the other rows".to_owned()))
}
