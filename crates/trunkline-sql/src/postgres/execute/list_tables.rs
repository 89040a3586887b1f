use tokio_postgres::types::Type;

use crate::model::cursor::{self, Fingerprint};
use crate::model::describe::{ListTables, TableList, TableSummary};
use crate::model::error::Error;
use crate::model::schema::TableKind;
use crate::postgres::catalog::{self, NAME};
use crate::postgres::transaction::Transaction;
use crate::postgres::visibility::{self, Among, READABLE};

const TABLES_PER_PAGE: usize = 200;

pub(crate) async fn list_tables(
    transaction: &mut Transaction,
    request: &ListTables,
) -> Result<TableList, Error> {
    let pattern = request.pattern.as_deref().unwrap_or("%");
    // The kinds of `pg_class.relkind`.
    let kinds = match request.kind {
        None => "rpvmf",
        Some(TableKind::Table) => "rpf",
        Some(TableKind::View) => "vm",
        Some(TableKind::MaterializedView) => "m",
        Some(TableKind::Partitioned) => "p",
        Some(TableKind::Foreign) => "f",
        Some(TableKind::Virtual) => "",
    };
    let fingerprint = Fingerprint::of(&["list_tables", pattern, kinds]);
    let after = match &request.cursor {
        Some(cursor) => cursor::decode(fingerprint, cursor)?,
        None => String::new(),
    };
    let hidden = visibility::hidden(transaction, Among::All).await?;
    let sql = format!(
        "SELECT {NAME} COLLATE \"C\", c.relkind::text, \
         (SELECT count(*) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 \
         AND NOT a.attisdropped AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')), \
         c.reltuples::int8, pg_catalog.obj_description(c.oid, 'pg_class') {READABLE} \
         AND NOT c.relispartition AND ({NAME} ILIKE $1 OR c.relname ILIKE $1 OR n.nspname || '.' || c.relname ILIKE $1) \
         AND strpos($2, c.relkind::text) > 0 \
         AND c.oid <> ALL($4) AND {NAME} COLLATE \"C\" > $3 ORDER BY 1 LIMIT {}",
        TABLES_PER_PAGE + 1
    );
    let params: &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)] = &[
        (&pattern, Type::TEXT),
        (&kinds, Type::TEXT),
        (&after, Type::TEXT),
        (&hidden, Type::OID_ARRAY),
    ];
    let found = catalog::rows(transaction, &sql, params).await?;
    let mut unreadable = Vec::new();
    let mut tables = Vec::with_capacity(found.len().min(TABLES_PER_PAGE));
    for row in found.iter().take(TABLES_PER_PAGE) {
        let name = match catalog::name(row, 0)? {
            Ok(name) => name,
            Err(shown) => {
                unreadable.push(shown);
                continue;
            }
        };
        let columns: i64 = row.try_get(2)?;
        let row_estimate: i64 = row.try_get(3)?;
        let kind = catalog::kind_of(row.try_get(1)?);
        let stores_rows = kind != TableKind::View;
        tables.push(TableSummary {
            name,
            kind,
            columns: usize::try_from(columns).ok(),
            // Negative if the table was never analyzed.
            row_estimate: u64::try_from(row_estimate).ok().filter(|_| stores_rows),
            description: catalog::shown(row, 4)?,
        });
    }
    let next_cursor = match tables.last() {
        Some(last) if found.len() > TABLES_PER_PAGE => {
            Some(cursor::encode(fingerprint, &last.name))
        }
        _ => None,
    };
    Ok(TableList { tables, unreadable, next_cursor })
}
