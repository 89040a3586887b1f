//! The relations that the rules hide, from the system catalogs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::security::is_forbidden;
use super::transaction::Transaction;
use crate::model::error::Error;
use crate::model::schema::Table;
use crate::model::unmatched_rule::{NamedObject, TableNames};
use crate::model::visibility::VisibilityRules;
use crate::query::change;

/// Functions that begin with `pg_` and are allowed.
pub(super) const ALLOWED: [&str; 1] = ["pg_size_pretty"];

/// The tables that the role can read, without that of the checkpoints of imports. `c` is the table, and `n` its schema.
pub(super) const READABLE: &str = "\
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') \
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relname <> 'trunkline_import' \
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') \
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') \
         OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))";

/// The built-in types whose input looks up names, and their arrays. A literal next to such a value gets its type.
const LOOKUP_TYPES: &str = "\
    (SELECT array_agg(t.oid) FROM pg_catalog.pg_type AS t LEFT JOIN pg_catalog.pg_type AS e ON e.oid = t.typelem \
     WHERE t.oid < 16384 AND (t.typname ~ '^(aclitem|oidvector|refcursor|reg(?!config|dictionary))' \
      OR e.typname ~ '^(aclitem|oidvector|refcursor|reg(?!config|dictionary))'))::oid[]";

/// Whether a function `p` looks up tables, describes objects, shows what other calls of the session did, is not a part
/// of PostgreSQL, or has a body in another language. Aggregates of oids are harmless.
fn is_lookup() -> String {
    format!(
        "p.prokind <> 'a' AND (p.oid >= 16384 OR p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace \
         OR p.proname = 'lastval' \
         OR p.prolang NOT IN (SELECT l.oid FROM pg_catalog.pg_language AS l \
          WHERE l.lanname IN ('internal', 'c', 'sql')) \
         OR p.proargtypes::oid[] && ARRAY['oid', 'oid[]']::pg_catalog.regtype[]::oid[] \
         OR coalesce(p.proallargtypes, p.proargtypes::oid[]) || p.prorettype && {LOOKUP_TYPES})"
    )
}

/// The views among relations that may read tables which their dependencies do not show: those that depend on functions,
/// operators or types that are not part of PostgreSQL, except enumerations, that call functions which callers must not
/// call, or have values of types that look up names.
///
/// `pg_depend` lacks the built-in objects, which are found in the text of the query tree. In it, strings are bytes, and
/// spaces in names are escaped, so that no text of the author can look like a field or conceal one.
async fn views_with_code(transaction: &Transaction, views: &[u32]) -> Result<Vec<u32>, Error> {
    let sql = format!(
        "WITH view AS MATERIALIZED ( \
           SELECT w.oid, w.ev_class, w.ev_action::text AS tree FROM pg_catalog.pg_rewrite AS w \
           WHERE w.ev_class = ANY($1) \
         ), call AS MATERIALIZED ( \
           SELECT DISTINCT v.ev_class, m.found[1]::oid AS function FROM view AS v CROSS JOIN LATERAL \
           regexp_matches(v.tree, ':(?:\\w*funcid|\\w*fnoid|\\w*Func|tsmhandler) (\\d+)', 'g') AS m(found) \
         ), called AS MATERIALIZED ( \
           SELECT f.oid, f.proname::text AS name, \
           (SELECT count(*) FROM pg_catalog.pg_proc AS p WHERE p.proname = f.proname \
            AND (p.oid = f.oid OR f.proname <> 'int8') AND {}) > 0 AS is_lookup \
           FROM pg_catalog.pg_proc AS f WHERE f.oid IN (SELECT function FROM call) \
         ) \
         SELECT v.ev_class, array(SELECT f.name FROM call AS c JOIN called AS f ON f.oid = c.function \
          WHERE c.ev_class = v.ev_class), \
         v.tree ~ ('types?(id)? (\\(o )?(\\d+ )*(' || array_to_string({LOOKUP_TYPES}, '|') || ')\\M') \
         OR (SELECT count(*) FROM call AS c JOIN called AS f ON f.oid = c.function \
             WHERE c.ev_class = v.ev_class AND f.is_lookup) > 0 \
         OR (SELECT count(*) FROM pg_catalog.pg_depend AS d \
          WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = v.oid AND d.refobjid >= 16384 \
          AND d.refclassid NOT IN ('pg_catalog.pg_class'::pg_catalog.regclass, \
           'pg_catalog.pg_constraint'::pg_catalog.regclass, 'pg_catalog.pg_collation'::pg_catalog.regclass) \
          AND NOT (d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND ( \
           SELECT coalesce(e.typtype, t.typtype) FROM pg_catalog.pg_type AS t \
           LEFT JOIN pg_catalog.pg_type AS e ON e.oid = t.typelem WHERE t.oid = d.refobjid) = 'e')) > 0 \
         FROM view AS v",
        is_lookup()
    );
    let params: &[(&(dyn ToSql + Sync), Type)] = &[(&views, Type::OID_ARRAY)];
    let is_harmful =
        |name: &&str| is_forbidden(name) || (name.starts_with("pg_") && !ALLOWED.contains(name));
    let mut found = Vec::new();
    for row in transaction.look_up(&sql, params).await? {
        let functions: Vec<&str> = row.try_get(1)?;
        if row.try_get(2)? || functions.iter().any(is_harmful) {
            found.push(row.try_get(0)?);
        }
    }
    Ok(found)
}

/// Those of the built-in functions with given names that look up tables or describe objects.
pub(super) async fn lookup_functions(
    transaction: &Transaction,
    names: &[&str],
) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT DISTINCT p.proname::text FROM pg_catalog.pg_proc AS p \
         WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND p.proname = ANY($1) AND {}",
        is_lookup()
    );
    let params: &[(&(dyn ToSql + Sync), Type)] = &[(&names, Type::TEXT_ARRAY)];
    let rows = transaction.look_up(&sql, params).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The relations to look up.
#[derive(Clone, Copy)]
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
    oid: u32,
    schema: String,
    name: String,
    columns: Vec<String>,
    /// Whether a view reads it.
    is_viewed: bool,
    /// Whether it is a view that may run code, which can read any table.
    has_code: bool,
}

impl Relation {
    /// Whether callers see it. A view is visible if all that it reads is, and has no masked columns, and if it runs no
    /// code that could read more. A table with columns of the row type of another one counts as a view of it.
    pub(super) fn is_visible(&self, rules: &VisibilityRules) -> bool {
        self.sources.iter().all(|source| source.is_visible(rules))
    }

    /// Masks columns of the relation by the names of its parents and children, too.
    pub(super) fn mask_columns(&self, table: &mut Table, rules: &VisibilityRules) {
        let sources = self.sources.iter().filter(|source| !source.is_viewed);
        let names =
            sources.clone().map(|source| (Some(source.schema.as_str()), source.name.as_str()));
        table.mask_columns(rules, names);
        // A child can compute a generated column of its parent in another way.
        if sources.clone().any(|source| source.has_masks(rules)) {
            table.mask_generated();
        }
    }
}

impl Source {
    fn is_visible(&self, rules: &VisibilityRules) -> bool {
        let schema = Some(self.schema.as_str());
        // The catalogs contain the names of all tables, and samples of their values.
        let is_catalog = self.schema == "information_schema" || self.schema.starts_with("pg_");
        let is_masked = self.is_viewed && self.has_masks(rules);
        !is_catalog && !self.has_code && !is_masked && rules.is_visible(schema, &self.name)
    }

    fn has_masks(&self, rules: &VisibilityRules) -> bool {
        let schema = Some(self.schema.as_str());
        self.columns.iter().any(|column| rules.mask_of(schema, &self.name, column).is_some())
    }
}

/// Looks up relations with their sources. From a view the way leads to all that it reads; from a table to its parents
/// and to its children, but not to other children of its parents.
pub(super) async fn relations(
    transaction: &Transaction,
    among: Among<'_>,
) -> Result<Vec<Relation>, Error> {
    let (filter, oids) = match among {
        Among::All => (READABLE, &[][..]),
        // With a small view, so that the same lookups run for an empty list and for tables without views.
        Among::Oids(oids) => (
            "FROM pg_catalog.pg_class AS c \
             WHERE c.oid = ANY($1 || 'pg_catalog.pg_group'::pg_catalog.regclass::pg_catalog.oid)",
            oids,
        ),
    };
    let sql = format!(
        "WITH RECURSIVE reach(root, node, is_type, way, viewed) AS ( \
           SELECT c.oid, c.oid, FALSE, 'any', FALSE {filter} {} \
           UNION \
           SELECT r.root, e.next, e.is_type, CASE e.way WHEN 'view' THEN 'any' ELSE e.way END, \
           r.viewed OR e.way = 'view' \
           FROM reach AS r CROSS JOIN LATERAL ( \
             SELECT d.refobjid, FALSE, 'view' FROM pg_catalog.pg_rewrite AS w \
             JOIN pg_catalog.pg_depend AS d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass \
             AND d.objid = w.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass \
             WHERE w.ev_class = r.node AND NOT r.is_type AND w.ev_type = '1' AND d.refobjid <> w.ev_class \
             UNION ALL SELECT m.found[1]::oid, FALSE, 'view' FROM pg_catalog.pg_rewrite AS w \
             CROSS JOIN LATERAL regexp_matches(w.ev_action::text, ':relid (\\d+)', 'g') AS m(found) \
             WHERE w.ev_class = r.node AND NOT r.is_type AND w.ev_type = '1' AND m.found[1]::oid <> w.ev_class \
             UNION ALL SELECT a.atttypid, TRUE, 'view' FROM pg_catalog.pg_attribute AS a \
             WHERE a.attrelid = r.node AND NOT r.is_type AND a.attnum > 0 AND NOT a.attisdropped \
             AND (a.atttypid >= 16384 OR a.atttypid = ANY({LOOKUP_TYPES})) \
             UNION ALL SELECT p.part, p.is_type, 'view' FROM pg_catalog.pg_type AS t \
             LEFT JOIN pg_catalog.pg_range AS g ON r.node >= 16384 \
             AND (g.rngtypid = t.oid OR to_jsonb(g) -> 'rngmultitypid' = to_jsonb(t.oid)) \
             CROSS JOIN LATERAL (VALUES \
              (t.typelem, TRUE), (t.typbasetype, TRUE), (g.rngsubtype, TRUE), (t.typrelid, FALSE)) \
              AS p(part, is_type) WHERE t.oid = r.node AND r.is_type AND t.oid >= 16384 AND p.part > 0 \
             UNION ALL SELECT inhrelid, FALSE, 'down' FROM pg_catalog.pg_inherits \
             WHERE inhparent = r.node AND NOT r.is_type \
             UNION ALL SELECT inhparent, FALSE, 'up' FROM pg_catalog.pg_inherits \
             WHERE inhrelid = r.node AND NOT r.is_type \
           ) AS e(next, is_type, way) WHERE r.way IN ('any', e.way) OR e.way = 'view' \
         ) \
         SELECT r.root, n.nspname::text, c.relname::text, r.viewed, \
         (SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute AS a \
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
         c.oid, c.relkind IN ('v', 'm') \
         FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.node AND NOT r.is_type \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         UNION ALL SELECT r.root, 'pg_catalog', '', TRUE, NULL, 0, FALSE FROM reach AS r \
         WHERE r.is_type AND r.node = ANY({LOOKUP_TYPES}) ORDER BY 1",
        // One statement with one number of parameters.
        if matches!(among, Among::All) { "AND $1::oid[] IS NOT NULL" } else { "" },
    );
    let params: &[(&(dyn ToSql + Sync), Type)] = &[(&oids, Type::OID_ARRAY)];
    let mut relations: Vec<Relation> = Vec::new();
    let mut views = Vec::new();
    for row in transaction.look_up(&sql, params).await? {
        let oid = row.try_get(0)?;
        let columns: Option<Vec<String>> = row.try_get(4)?;
        let source = Source {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            is_viewed: row.try_get(3)?,
            oid: row.try_get(5)?,
            has_code: false,
            columns: columns.unwrap_or_default(),
        };
        if row.try_get(6)? {
            views.push(source.oid);
        }
        match relations.last_mut() {
            Some(last) if last.oid == oid => last.sources.push(source),
            _ => relations.push(Relation { oid, sources: vec![source] }),
        }
    }
    views.sort_unstable();
    views.dedup();
    if !views.is_empty() {
        let with_code = views_with_code(transaction, &views).await?;
        for source in relations.iter_mut().flat_map(|relation| &mut relation.sources) {
            source.has_code = with_code.contains(&source.oid);
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

/// The error of a change of a table. Under rules, it does not name other tables, and contains no stored values.
pub(super) fn of_change(rules: &VisibilityRules, table: &Table, error: Error) -> Error {
    let error = change::without_other_tables(error, rules, &table.name);
    let error = if rules.is_empty() { error } else { error.under_rules() };
    error.on_table(&table.full_name())
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

/// Checks that the tables and columns that rules name exist. `known` are those that were found before, which are looked
/// up first, by their indexes.
///
/// # Errors
///
/// [`Error::UnmatchedRules`], and those of a lookup.
pub(super) async fn check_names(
    transaction: &Transaction,
    known: &Mutex<Arc<[NamedObject]>>,
) -> Result<(), Error> {
    if !transaction.rules().must_match() {
        return Ok(());
    }
    let objects = Arc::clone(&known.lock().unwrap_or_else(PoisonError::into_inner));
    if !objects.is_empty() && exist(transaction, &objects).await? {
        return Ok(());
    }
    let tables = names_and_columns(transaction).await?;
    transaction.rules().check(&tables)?;
    let found = transaction.rules().named_objects(&tables);
    *known.lock().unwrap_or_else(PoisonError::into_inner) = found.into();
    Ok(())
}

/// Whether all of these tables and columns exist.
async fn exist(transaction: &Transaction, objects: &[NamedObject]) -> Result<bool, Error> {
    const MISSING: &str = "\
        SELECT count(*) FROM unnest($1::text[], $2::text[], $3::text[]) AS o(schema, name, col) \
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c \
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = o.schema::name \
          WHERE c.relname = o.name::name AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
          AND (o.col IS NULL OR EXISTS (SELECT FROM pg_catalog.pg_attribute AS a \
            WHERE a.attrelid = c.oid AND a.attname = o.col::name AND NOT a.attisdropped)))";
    let schemas: Vec<_> = objects.iter().map(|object| object.schema.as_deref()).collect();
    let names: Vec<_> = objects.iter().map(|object| object.table.as_str()).collect();
    let columns: Vec<_> = objects.iter().map(|object| object.column.as_deref()).collect();
    let params: [(&(dyn ToSql + Sync), Type); 3] =
        [(&schemas, Type::TEXT_ARRAY), (&names, Type::TEXT_ARRAY), (&columns, Type::TEXT_ARRAY)];
    let rows = transaction.look_up(MISSING, &params).await?;
    let missing: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(missing == 0)
}
