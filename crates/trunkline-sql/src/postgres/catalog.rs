//! Lookups of tables and columns in the system catalogs.

use futures_util::future::join;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::transaction::Transaction;
use super::visibility::{self, Among, READABLE};
use crate::model::error::{BoxError, Error};
use crate::model::schema::{
    Column, Constraint, ConstraintKind, Dialect, Table, TableKind, Visibility, nearest_names,
};
use crate::model::table_name::{self, TableName};
use crate::model::visibility::VisibilityRules;

/// A table with the facts that only descriptions use.
pub(super) struct CatalogTable {
    pub(super) oid: u32,
    pub(super) table: Table,
    pub(super) comment: Option<String>,
    pub(super) columns: Vec<ColumnFacts>,
}

/// The facts of a column that only descriptions use.
pub(super) struct ColumnFacts {
    /// `a` and `d` for identity columns that are generated always and by default, otherwise empty.
    pub(super) identity: String,
    pub(super) comment: Option<String>,
}

/// The listed name of a table, as of [`table_name::listed`].
pub(super) const NAME: &str = "\
    (CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' \
    WHEN n.nspname ~ '[.\"]' THEN pg_catalog.quote_ident(n.nspname) || '.' \
    ELSE n.nspname || '.' END \
    || CASE WHEN c.relname ~ '[.\"]' THEN pg_catalog.quote_ident(c.relname) ELSE c.relname END)";

/// The facts of a table. `c` is the table, and `n` its schema.
const TABLE: &str = "\
    SELECT c.oid, c.relname::text, n.nspname::text, c.relkind::text, \
    pg_catalog.pg_table_is_visible(c.oid), \
    (SELECT d.description FROM pg_catalog.pg_description AS d WHERE d.objoid = c.oid \
     AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid = 0)";

/// Runs a query of our own on the catalogs.
pub(super) async fn rows(
    transaction: &Transaction,
    sql: &str,
    params: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>, Error> {
    Ok(transaction.connection()?.client.query_typed(sql, params).await?)
}

/// The bytes of a text, which need not be UTF-8 in a database without an encoding.
struct AnyText<'v>(&'v [u8]);

impl<'v> FromSql<'v> for AnyText<'v> {
    fn from_sql(_: &Type, bytes: &'v [u8]) -> Result<Self, BoxError> {
        Ok(Self(bytes))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT
    }
}

/// A text for display, with U+FFFD for what is not UTF-8.
pub(super) fn shown(row: &Row, index: usize) -> Result<Option<String>, Error> {
    let found: Option<AnyText<'_>> = row.try_get(index)?;
    Ok(found.map(|text| String::from_utf8_lossy(text.0).into_owned()))
}

/// A list of texts for display, as [`shown`].
pub(super) fn shown_list(row: &Row, index: usize) -> Result<Vec<String>, Error> {
    let found: Vec<AnyText<'_>> = row.try_get(index)?;
    Ok(found.iter().map(|text| String::from_utf8_lossy(text.0).into_owned()).collect())
}

/// A name. The inner error is one that is not UTF-8, with U+FFFD for invalid bytes: requests cannot contain it.
pub(super) fn name(row: &Row, index: usize) -> Result<Result<String, String>, Error> {
    let bytes: AnyText<'_> = row.try_get(index)?;
    Ok(match std::str::from_utf8(bytes.0) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(String::from_utf8_lossy(bytes.0).into_owned()),
    })
}

/// The names in the first column that are UTF-8.
fn names(rows: &[Row]) -> Result<Vec<String>, Error> {
    let names: Vec<_> = rows.iter().map(|row| name(row, 0)).collect::<Result<_, _>>()?;
    Ok(names.into_iter().flatten().collect())
}

/// A table or view.
pub(super) async fn table(transaction: &Transaction, name: &str) -> Result<Table, Error> {
    // Boxed, since the future is large.
    Box::pin(find(transaction, name)).await.map(|found| found.table)
}

/// A table or view, by its name in SQL, or by the text of its name and that of its schema. If no name is equal, the case
/// is ignored, provided that only one table matches.
pub(super) async fn find(transaction: &Transaction, name: &str) -> Result<CatalogTable, Error> {
    // No name contains one, and no parameter.
    if name.contains('\0') {
        return Err(Error::UnknownTable { table: name.to_owned(), candidates: Vec::new() });
    }
    let spelled = TableName::of_postgres(name);
    let (database, schema) = match &spelled {
        Some(spelled) => (spelled.database.as_deref(), spelled.schema.as_deref()),
        None => (None, None),
    };
    let table = spelled.as_ref().map_or(name, |spelled| &spelled.name);
    let after_dot = name.split_once('.').map_or(name, |(_, after)| after);
    const IS_SPELLED: &str = "\
        c.relname = $2 AND (n.nspname = $3 OR $3 IS NULL AND pg_catalog.pg_table_is_visible(c.oid)) \
        AND coalesce(current_database() = $4, TRUE)";
    // Names with dots without quotes, if no other table has the name in SQL.
    const IS_TEXT: &str = "\
        ($1 = c.relname AND pg_catalog.pg_table_is_visible(c.oid) OR $1 = n.nspname || '.' || c.relname)";
    let ranked = format!("CASE WHEN {IS_SPELLED} THEN 2 WHEN {IS_TEXT} THEN 1 ELSE 0 END");
    // By an index of the catalog. The number of names is constant, so that the server keeps one plan. With several dots,
    // the name of the schema may have any length.
    let by_index = format!(
        "{TABLE}, {ranked} {READABLE} AND c.relname IN ($1, $2, $5) AND ({IS_SPELLED} OR {IS_TEXT}) \
         ORDER BY 7 DESC, 5 DESC LIMIT 2"
    );
    // In any case. This compares the names of all tables.
    let among_all = format!(
        "{TABLE}, {ranked} {READABLE} AND ( \
           lower(c.relname) = lower($2) \
           AND (lower(n.nspname) = lower($3) OR $3 IS NULL AND pg_catalog.pg_table_is_visible(c.oid)) \
           AND coalesce(current_database() = $4, TRUE) \
           OR lower($1) = lower(c.relname) AND pg_catalog.pg_table_is_visible(c.oid) \
           OR lower($1) = lower(n.nspname || '.' || c.relname)) \
         ORDER BY 7 DESC, 5 DESC LIMIT 2"
    );
    let params: &[(&(dyn ToSql + Sync), Type)] = &[
        (&name, Type::TEXT),
        (&table, Type::TEXT),
        (&schema, Type::TEXT),
        (&database, Type::TEXT),
        (&after_dot, Type::TEXT),
    ];
    let all_params = &params[..4];
    let mut found = transaction.look_up(&by_index, params).await?;
    let is_by_index = !found.is_empty();
    if !is_by_index {
        found = transaction.look_up(&among_all, all_params).await?;
    }
    let row = match found.as_slice() {
        [one] => Some(one),
        // One is equal, or visible by its name alone.
        [first, second] if rank(first)? > rank(second)? => Some(first),
        _ => None,
    };
    let rules = transaction.rules();
    let relation = match row {
        row if rules.is_empty() => row.map(|row| (row, None)),
        row => {
            // The names that the rules hide are not looked up further, like those of no table.
            let row = row.filter(|row| is_visible_by_name(rules, row));
            let oid = row.map_or(Ok(0), |row| row.try_get(0))?;
            let relations = visibility::relations(transaction, Among::Oids(&[oid])).await?;
            let relation = relations.into_iter().find(|relation| relation.oid == oid);
            let relation = relation.filter(|relation| relation.is_visible(rules));
            row.zip(relation).map(|(row, relation)| (row, Some(relation)))
        }
    };
    let Some((row, relation)) = relation else {
        // The time of a call must not show whether a hidden table exists.
        if is_by_index {
            transaction.look_up(&among_all, all_params).await?;
        }
        return Err(unknown_table(transaction, name).await?);
    };
    let oid: u32 = row.try_get(0)?;
    let is_visible: bool = row.try_get(4)?;
    let schema: String = row.try_get(2)?;
    // Sent together.
    let facts = join(columns(transaction, oid), unique_key(transaction, oid)).await;
    let (Columns { columns, facts, unreadable }, unique_key) = (facts.0?, facts.1?);
    let mut table = Table {
        dialect: Dialect::Postgres,
        schema: Some(schema).filter(|_| !is_visible),
        name: row.try_get(1)?,
        kind: kind_of(row.try_get(3)?),
        without_rowid: true,
        columns,
        unreadable_columns: unreadable,
        unique_key,
        constraints: Vec::new(),
    };
    if let Some(relation) = relation {
        relation.mask_columns(&mut table, rules);
        if table.has_masks() {
            table.constraints = constraints(transaction, oid).await?;
        }
    }
    Ok(CatalogTable { oid, table, comment: shown(row, 5)?, columns: facts })
}

/// Whether the patterns of the rules show a table. `row` begins with [`TABLE`].
fn is_visible_by_name(rules: &VisibilityRules, row: &Row) -> bool {
    let name: Result<(String, String), _> =
        row.try_get(2).and_then(|schema| Ok((schema, row.try_get(1)?)));
    name.is_ok_and(|(schema, name)| rules.is_visible(Some(&schema), &name))
}

/// The constraints, unique indexes, policies and partition keys of a table and of its partitions and child tables. The
/// columns of expressions are the numbers in their stored form: a superset, if an expression reads other tables.
async fn constraints(transaction: &Transaction, oid: u32) -> Result<Vec<Constraint>, Error> {
    const CONSTRAINTS: &str = "\
        WITH RECURSIVE family(oid) AS (SELECT $1 UNION \
            SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN family AS f ON i.inhparent = f.oid), \
        checks(oid, kind, numbers, tree) AS ( \
            SELECT c.conrelid, 'c', c.conkey, c.conbin::text \
            FROM pg_catalog.pg_constraint AS c JOIN family AS f ON c.conrelid = f.oid \
            WHERE c.contype IN ('c', 'f') \
            UNION ALL \
            SELECT p.partrelid, 'c', p.partattrs::int2[], p.partexprs::text \
            FROM pg_catalog.pg_partitioned_table AS p JOIN family AS f ON p.partrelid = f.oid \
            UNION ALL \
            SELECT p.polrelid, 'c', '{}', pg_catalog.concat(p.polqual::text, p.polwithcheck::text) \
            FROM pg_catalog.pg_policy AS p JOIN family AS f ON p.polrelid = f.oid \
            UNION ALL \
            SELECT i.indrelid, CASE WHEN i.indnkeyatts = 1 AND i.indexprs IS NULL AND i.indpred IS NULL \
                                    THEN 's' ELSE 'u' END, \
            (i.indkey::int2[])[0:i.indnkeyatts - 1], pg_catalog.concat(i.indexprs::text, i.indpred::text) \
            FROM pg_catalog.pg_index AS i JOIN family AS f ON i.indrelid = f.oid \
            WHERE i.indisunique OR i.indisexclusion) \
        SELECT k.kind, ARRAY( \
            SELECT a.attname::text FROM pg_catalog.pg_attribute AS a \
            WHERE a.attrelid = k.oid AND a.attnum > 0 AND NOT a.attisdropped \
            AND (a.attnum = ANY(k.numbers) OR EXISTS ( \
                SELECT FROM pg_catalog.regexp_matches(k.tree, ':varattno (-?[0-9]+)', 'g') AS m(part) \
                WHERE m.part[1]::int IN (0, a.attnum)))) \
        FROM checks AS k";
    let found = transaction.look_up(CONSTRAINTS, &[(&oid, Type::OID)]).await?;
    let constraint = |row: &Row| {
        let kind = match row.try_get(0)? {
            "c" => ConstraintKind::Check,
            "s" => ConstraintKind::UniqueColumn,
            _ => ConstraintKind::Unique,
        };
        Ok(Constraint { kind, columns: row.try_get(1)? })
    };
    found.iter().map(constraint).collect()
}

fn rank(row: &Row) -> Result<(i32, bool), Error> {
    Ok((row.try_get(6)?, row.try_get(4)?))
}

/// The kind that `pg_class.relkind` means.
pub(super) fn kind_of(relkind: &str) -> TableKind {
    match relkind {
        "v" => TableKind::View,
        "m" => TableKind::MaterializedView,
        "p" => TableKind::Partitioned,
        "f" => TableKind::Foreign,
        _ => TableKind::Table,
    }
}

/// The columns of a table.
#[derive(Default)]
struct Columns {
    columns: Vec<Column>,
    facts: Vec<ColumnFacts>,
    /// Names of further columns, which are not UTF-8.
    unreadable: Vec<String>,
}

async fn columns(transaction: &Transaction, oid: u32) -> Result<Columns, Error> {
    const COLUMNS: &str = "\
        SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, \
        pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attidentity::text, a.attgenerated::text, \
        (SELECT d.description FROM pg_catalog.pg_description AS d WHERE d.objoid = a.attrelid \
         AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid = a.attnum), \
        coalesce(pg_catalog.array_position(k.conkey, a.attnum), 0), \
        CASE WHEN y.typtype = 'd' THEN (WITH RECURSIVE d AS ( \
            SELECT y.typbasetype AS oid, y.typtypmod AS modifier UNION ALL \
            SELECT b.typbasetype, b.typtypmod FROM d JOIN pg_catalog.pg_type AS b ON b.oid = d.oid WHERE b.typtype = 'd') \
          SELECT pg_catalog.format_type(d.oid, d.modifier) FROM d JOIN pg_catalog.pg_type AS b ON b.oid = d.oid \
          WHERE b.typtype <> 'd') END \
        FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS y ON y.oid = a.atttypid \
        LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
        LEFT JOIN pg_catalog.pg_constraint AS k ON k.conrelid = a.attrelid AND k.contype = 'p' \
        WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped \
        AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attnum";
    let mut found = Columns::default();
    for row in transaction.look_up(COLUMNS, &[(&oid, Type::OID)]).await? {
        let generated: &str = row.try_get(5)?;
        let key_place: i32 = row.try_get(7)?;
        let name = match name(&row, 0)? {
            Ok(name) => name,
            Err(shown) => {
                found.unreadable.push(shown);
                continue;
            }
        };
        found.columns.push(Column {
            name,
            declared_type: row.try_get(1)?,
            base_type: row.try_get(8)?,
            not_null: row.try_get(2)?,
            default: shown(&row, 3)?,
            key_place: key_place.unsigned_abs(),
            visibility: match generated {
                "s" => Visibility::GeneratedStored,
                "v" => Visibility::GeneratedVirtual,
                _ => Visibility::Normal,
            },
            mask: None,
        });
        found.facts.push(ColumnFacts { identity: row.try_get(4)?, comment: shown(&row, 6)? });
    }
    Ok(found)
}

/// The columns of the primary key, or else of the smallest unique index without NULLs. A table with child tables has no
/// key, since its indexes do not contain their rows.
async fn unique_key(transaction: &Transaction, oid: u32) -> Result<Vec<String>, Error> {
    const KEY: &str = "\
        SELECT array_agg(a.attname::text ORDER BY k.place) \
        FROM pg_catalog.pg_index AS i \
        JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid AND NOT (c.relkind = 'r' AND c.relhassubclass) \
        CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) \
        LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
        AND a.attnotnull AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') \
        WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indimmediate \
        AND i.indpred IS NULL AND k.place <= i.indnkeyatts \
        GROUP BY i.indexrelid, i.indisprimary HAVING bool_and(a.attname IS NOT NULL) \
        ORDER BY i.indisprimary DESC, count(*), i.indexrelid LIMIT 1";
    let found = transaction.look_up(KEY, &[(&oid, Type::OID)]).await?;
    Ok(found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

/// A visible table, with its schema and its masks.
pub(super) struct VisibleTable {
    pub(super) table: Table,
    /// Whether its name without a schema means this table.
    pub(super) is_in_search_path: bool,
}

/// The visible tables with given names, of all schemas.
pub(super) async fn visible_tables(
    transaction: &Transaction,
    names: &[&str],
) -> Result<Vec<VisibleTable>, Error> {
    let sql = format!(
        "SELECT c.oid, c.relname::text, n.nspname::text, c.relkind::text, pg_catalog.pg_table_is_visible(c.oid) \
         {READABLE} AND c.relname = ANY($1) ORDER BY c.oid"
    );
    let mut found = transaction.look_up(&sql, &[(&names, Type::TEXT_ARRAY)]).await?;
    let rules = transaction.rules();
    found.retain(|row| is_visible_by_name(rules, row));
    let oids: Vec<u32> = found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    // Also for an empty list: the time of a call must not show whether a hidden table exists.
    let relations = visibility::relations(transaction, Among::Oids(&oids)).await?;
    let mut tables = Vec::new();
    for row in &found {
        let oid: u32 = row.try_get(0)?;
        let relation = relations.iter().find(|relation| relation.oid == oid);
        let Some(relation) = relation.filter(|relation| relation.is_visible(rules)) else {
            continue;
        };
        let mut table = Table {
            dialect: Dialect::Postgres,
            schema: Some(row.try_get(2)?),
            name: row.try_get(1)?,
            kind: kind_of(row.try_get(3)?),
            without_rowid: true,
            columns: columns(transaction, oid).await?.columns,
            unreadable_columns: Vec::new(),
            unique_key: Vec::new(),
            constraints: Vec::new(),
        };
        relation.mask_columns(&mut table, rules);
        tables.push(VisibleTable { table, is_in_search_path: row.try_get(4)? });
    }
    Ok(tables)
}

/// The names of all schemas.
pub(super) async fn schema_names(transaction: &Transaction) -> Result<Vec<String>, Error> {
    let found =
        transaction.look_up("SELECT nspname::text FROM pg_catalog.pg_namespace", &[]).await?;
    found.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The names of all tables that the role can read.
pub(super) async fn table_names(transaction: &Transaction) -> Result<Vec<String>, Error> {
    let hidden = visibility::hidden(transaction, Among::All).await?;
    let sql = format!("SELECT {NAME} {READABLE} AND c.oid <> ALL($1) LIMIT 10000");
    names(&rows(transaction, &sql, &[(&hidden, Type::OID_ARRAY)]).await?)
}

async fn unknown_table(transaction: &Transaction, name: &str) -> Result<Error, Error> {
    let candidates = similar_tables(transaction, name).await?;
    Ok(Error::UnknownTable { table: name.to_owned(), candidates })
}

/// The names of tables that are similar to an unknown name.
pub(super) async fn similar_tables(
    transaction: &Transaction,
    name: &str,
) -> Result<Vec<String>, Error> {
    let names = table_names(transaction).await?;
    let bare = |name: &str| table_name::bare(name).to_ascii_lowercase();
    // A table of another schema is found by its name, too.
    let mut same: Vec<String> =
        names.iter().filter(|known| bare(known) == bare(name)).cloned().collect();
    if same.is_empty() {
        // Names of the search path have no schema.
        let found = nearest_names(name, names.iter());
        return Ok(if found.is_empty() { nearest_names(&bare(name), names.iter()) } else { found });
    }
    same.sort_unstable();
    same.truncate(3);
    Ok(same)
}
