use tokio_postgres::types::Type;

use crate::model::error::Error;
use crate::model::search::{self, Candidate, MAX_TABLES, SchemaMatches, SearchSchema};
use crate::postgres::catalog::{self, NAME};
use crate::postgres::transaction::Transaction;
use crate::postgres::visibility::{self, Among, READABLE};

/// Maximum number of tables and columns that a search reads.
const MAX_CANDIDATES: usize = MAX_TABLES * 10;

pub(crate) async fn search_schema(
    transaction: &mut Transaction,
    request: &SearchSchema,
) -> Result<SchemaMatches, Error> {
    let sql = format!(
        "WITH tables AS MATERIALIZED (\
             SELECT c.oid, {NAME} AS name, c.relkind::text AS kind {READABLE} AND NOT c.relispartition AND c.oid <> ALL($1) \
             ORDER BY 2 LIMIT {}) \
         SELECT name, kind, NULL::text, NULL::text, pg_catalog.obj_description(oid, 'pg_class') FROM tables \
         UNION ALL \
         SELECT t.name, t.kind, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), \
         pg_catalog.col_description(a.attrelid, a.attnum) \
         FROM tables AS t JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid \
         WHERE a.attnum > 0 AND NOT a.attisdropped \
         AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') LIMIT {}",
        MAX_TABLES + 1,
        MAX_CANDIDATES + 1,
    );
    let hidden = visibility::hidden(transaction, Among::All).await?;
    let found = catalog::rows(transaction, &sql, &[(&hidden, Type::OID_ARRAY)]).await?;
    let mut candidates = Vec::with_capacity(found.len());
    for row in &found {
        let Ok(table) = catalog::name(row, 0)? else { continue };
        candidates.push(Candidate {
            table,
            kind: catalog::kind_of(row.try_get(1)?),
            column: catalog::shown(row, 2)?,
            declared_type: row.try_get(3)?,
            description: catalog::shown(row, 4)?,
        });
    }
    let tables = candidates.iter().filter(|candidate| candidate.column.is_none()).count();
    let is_complete = tables <= MAX_TABLES && candidates.len() <= MAX_CANDIDATES;
    search::rank(request, candidates, is_complete)
}
