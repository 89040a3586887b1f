//! The relations that the rules hide, from the system catalogs.

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::transaction::Transaction;
use crate::model::error::Error;
use crate::model::schema::Table;
use crate::model::visibility::{TableNames, VisibilityRules};
use crate::query::change;

/// The tables that the role can read, without that of the checkpoints of imports. `c` is the table, and `n` its schema.
pub(super) const READABLE: &str = "\
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') \
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relname <> 'trunkline_import' \
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') \
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') \
         OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))";

/// The relations to look up.
pub(super) enum Among<'a> {
    /// All tables and views that callers may use.
    All,
    Oids(&'a [u32]),
}

/// A relation with those whose rows it has.
pub(super) struct Relation {
    pub(super) oid: u32,
    /// The relation itself, its parents, its partitions and child tables, and what it reads as a view.
    sources: Vec<Source>,
}

struct Source {
    schema: String,
    name: String,
    columns: Vec<String>,
    /// Whether a view reads it.
    is_viewed: bool,
    /// Whether it is a view that calls functions with a body, which can read any table.
    has_code: bool,
}

impl Relation {
    /// Whether callers see it. A view is visible if all that it reads is, and has no masked columns, and if it calls no
    /// functions in SQL or a procedural language.
    pub(super) fn is_visible(&self, rules: &VisibilityRules) -> bool {
        self.sources.iter().all(|source| source.is_visible(rules))
    }

    /// The schemas and names whose masks apply to its columns.
    pub(super) fn names(&self) -> impl Iterator<Item = (Option<&str>, &str)> + Clone {
        let sources = self.sources.iter().filter(|source| !source.is_viewed);
        sources.map(|source| (Some(source.schema.as_str()), source.name.as_str()))
    }
}

impl Source {
    fn is_visible(&self, rules: &VisibilityRules) -> bool {
        let schema = Some(self.schema.as_str());
        let has_mask = |column: &String| rules.mask_of(schema, &self.name, column).is_some();
        // The catalogs contain the names of all tables, and samples of their values.
        let is_catalog = self.schema == "information_schema" || self.schema.starts_with("pg_");
        let is_masked = self.is_viewed && self.columns.iter().any(has_mask);
        !is_catalog && !self.has_code && !is_masked && rules.is_visible(schema, &self.name)
    }
}

/// Looks up relations with their sources. From a view the way leads to all that it reads; from a table to its parents and
/// to its children, but not to other children of its parents.
pub(super) async fn relations(
    transaction: &Transaction,
    among: Among<'_>,
) -> Result<Vec<Relation>, Error> {
    let (filter, oids) = match among {
        Among::All => (READABLE, &[][..]),
        Among::Oids(oids) => ("FROM pg_catalog.pg_class AS c WHERE c.oid = ANY($1)", oids),
    };
    let sql = format!(
        "WITH RECURSIVE reach(root, rel, way, viewed) AS ( \
           SELECT c.oid, c.oid, 'any', FALSE {filter} {} \
           UNION \
           SELECT r.root, e.next, CASE e.way WHEN 'view' THEN 'any' ELSE e.way END, r.viewed OR e.way = 'view' \
           FROM reach AS r CROSS JOIN LATERAL ( \
             SELECT d.refobjid, 'view' FROM pg_catalog.pg_rewrite AS w \
             JOIN pg_catalog.pg_depend AS d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass \
             AND d.objid = w.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass \
             WHERE w.ev_class = r.rel AND w.ev_type = '1' AND d.refobjid <> w.ev_class \
             UNION ALL SELECT inhrelid, 'down' FROM pg_catalog.pg_inherits WHERE inhparent = r.rel \
             UNION ALL SELECT inhparent, 'up' FROM pg_catalog.pg_inherits WHERE inhrelid = r.rel \
           ) AS e(next, way) WHERE r.way IN ('any', e.way) OR e.way = 'view' \
         ) \
         SELECT r.root, n.nspname::text, c.relname::text, r.viewed, \
         (SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute AS a \
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
         c.relkind IN ('v', 'm') AND EXISTS (SELECT FROM pg_catalog.pg_rewrite AS w \
          JOIN pg_catalog.pg_depend AS d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid \
          WHERE w.ev_class = c.oid AND EXISTS (SELECT FROM pg_catalog.pg_proc AS p \
           JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang WHERE l.lanname NOT IN ('internal', 'c') \
           AND p.oid = CASE d.refclassid WHEN 'pg_catalog.pg_proc'::pg_catalog.regclass THEN d.refobjid \
            WHEN 'pg_catalog.pg_operator'::pg_catalog.regclass \
            THEN (SELECT o.oprcode FROM pg_catalog.pg_operator AS o WHERE o.oid = d.refobjid) END)) \
         FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.rel \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace ORDER BY r.root",
        // One statement with one number of parameters.
        if oids.is_empty() { "AND $1::oid[] IS NOT NULL" } else { "" }
    );
    let params: &[(&(dyn ToSql + Sync), Type)] = &[(&oids, Type::OID_ARRAY)];
    let mut relations: Vec<Relation> = Vec::new();
    for row in transaction.connection()?.client.query_typed(&sql, params).await? {
        let oid = row.try_get(0)?;
        let columns: Option<Vec<String>> = row.try_get(4)?;
        let source = Source {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            is_viewed: row.try_get(3)?,
            has_code: row.try_get(5)?,
            columns: columns.unwrap_or_default(),
        };
        match relations.last_mut() {
            Some(last) if last.oid == oid => last.sources.push(source),
            _ => relations.push(Relation { oid, sources: vec![source] }),
        }
    }
    Ok(relations)
}

/// The relations among those that the rules hide. Empty without rules.
pub(super) async fn hidden(transaction: &Transaction, among: Among<'_>) -> Result<Vec<u32>, Error> {
    let rules = transaction.rules();
    if rules.is_empty() || matches!(among, Among::Oids([])) {
        return Ok(Vec::new());
    }
    let found = relations(transaction, among).await?;
    let hidden = found.iter().filter(|relation| !relation.is_visible(rules));
    Ok(hidden.map(|relation| relation.oid).collect())
}

/// The error of a change of a table. Under rules, it does not name other tables.
pub(super) fn of_change(rules: &VisibilityRules, table: &Table, error: Error) -> Error {
    change::without_other_tables(error, rules, &table.name).on_table(&table.full_name())
}

/// The schemas and names of all tables and views, with the names of their columns.
pub(super) async fn names_and_columns(transaction: &Transaction) -> Result<Vec<TableNames>, Error> {
    const TABLES: &str = "\
        SELECT n.nspname::text, c.relname::text, \
        (SELECT coalesce(array_agg(a.attname::text), '{}') FROM pg_catalog.pg_attribute AS a \
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) \
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";
    let rows = transaction.connection()?.client.query_typed(TABLES, &[]).await?;
    let table = |row: &Row| {
        let (schema, name) = (row.try_get(0)?, row.try_get(1)?);
        Ok(TableNames { schema, name, columns: row.try_get(2)? })
    };
    rows.iter().map(table).collect()
}
