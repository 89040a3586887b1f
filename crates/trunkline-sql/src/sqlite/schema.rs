//! Lookups of tables and columns in the schema.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::program;
use super::security::SqlScope;
use super::session::{Session, SpecialTables, TableCache};
use super::tokens;
use super::value;
use crate::model::error::{Error, ErrorClass};
use crate::model::import::is_checkpoint_table;
use crate::model::schema::{
    Column, Constraint, ConstraintKind, Dialect, Table, TableKind, Visibility, nearest_names,
};
use crate::model::table_name::TableName;
use crate::model::unmatched_rule::TableNames;

impl Session<'_> {
    /// A table or view, cached until the schema changes.
    pub(super) fn table(&mut self, name: &str) -> Result<Arc<Table>, Error> {
        self.refresh_table_cache()?;
        if let Some(table) = self.tables.tables.get(name) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(find(self, name)?);
        if self.tables.tables.len() >= TableCache::CAPACITY {
            self.tables.tables.clear();
        }
        self.tables.tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(table)
    }

    /// The shadow tables, the tables without row numbers, and the views.
    pub(super) fn special_tables(&mut self) -> Result<SpecialTables, Error> {
        self.refresh_table_cache()?;
        if let Some(special) = &self.tables.special {
            return Ok(special.clone());
        }
        let rows = self.rows(
            "SELECT name, type FROM pragma_table_list \
             WHERE schema = 'main' AND (type IN ('shadow', 'view') OR type = 'table' AND wr)",
            &[],
            |row| Ok((value::name(row, 0)?, row.get::<_, String>(1)?)),
        )?;
        let named = |kind: &str| {
            let rows = rows.iter().filter(|(_, found)| found == kind);
            let names = rows.filter_map(|(name, _)| name.as_ref().ok().cloned());
            Arc::new(names.collect::<HashSet<_>>())
        };
        let special = SpecialTables {
            shadow: named("shadow"),
            without_rowid: named("table"),
            views: named("view"),
        };
        self.tables.special = Some(special.clone());
        Ok(special)
    }

    /// Whether callers see a table, by the rules, of a kind that `pragma_table_list` reports. Of views, the [`scope`]
    /// decides.
    pub(super) fn shows(&self, name: &str, kind: &str) -> bool {
        let rules = &self.config().rules;
        if is_checkpoint_table(name) {
            return false;
        }
        if rules.is_empty() {
            return true;
        }
        match kind {
            // They contain names and values of all tables.
            _ if is_of_sqlite(name) => false,
            // The content of a virtual table can be hidden or masked.
            "shadow" | "virtual" => false,
            "view" => self.tables.scope.as_ref().is_some_and(|scope| scope.masked(name).is_some()),
            _ => rules.is_visible(None, name),
        }
    }

    /// Clears the cache if the schema has changed since it was filled. Fails if the rules do not match the new schema.
    fn refresh_table_cache(&mut self) -> Result<(), Error> {
        let versions = self.rows("PRAGMA schema_version", &[], |row| row.get(0))?;
        let schema_version = versions.first().copied().unwrap_or_default();
        if self.tables.schema_version != schema_version {
            let rules = &self.config().rules;
            if rules.must_match() {
                rules.check(&names_and_columns(self)?)?;
            }
            self.tables = TableCache { schema_version, ..TableCache::default() };
        }
        Ok(())
    }
}

/// Whether a table is one of SQLite's own: `sqlite_schema`, `sqlite_stat4`.
fn is_of_sqlite(name: &str) -> bool {
    name.get(..7).is_some_and(|prefix| prefix.eq_ignore_ascii_case("sqlite_"))
}

/// Looks up a table or view by its name, or by its name in SQL. As in SQLite, the case of ASCII letters is ignored.
fn find(session: &mut Session<'_>, name: &str) -> Result<Table, Error> {
    let spelled = TableName::of_sqlite(name);
    let found = session.rows(
        "SELECT name, type, wr FROM pragma_table_list \
         WHERE schema = 'main' AND name COLLATE NOCASE IN (?1, ?2) ORDER BY name = ?1 COLLATE NOCASE DESC",
        &[name, spelled.as_ref().map_or(name, |spelled| &spelled.name)],
        |row| {
            let found: (String, String, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(found)
        },
    )?;
    scope(session)?;
    let found = found.into_iter().next().filter(|(name, kind, _)| session.shows(name, kind));
    let Some((name, kind, without_rowid)) = found else {
        return Err(unknown_table(session, name)?);
    };
    load(session, name, kind_of(&kind), without_rowid)
}

/// The tables and views that SQL of callers may read, cached until the schema changes. Empty without rules.
pub(super) fn scope(session: &mut Session<'_>) -> Result<Arc<SqlScope>, Error> {
    session.refresh_table_cache()?;
    if let Some(scope) = &session.tables.scope {
        return Ok(Arc::clone(scope));
    }
    let rules = &session.config().rules;
    if rules.is_empty() {
        return Ok(Arc::default());
    }
    let mut scope = SqlScope::default();
    let mut views = Vec::new();
    for (name, kind) in named_tables(session)? {
        let lower = name.to_ascii_lowercase();
        if is_of_sqlite(&name) {
            continue;
        }
        if !rules.is_visible(None, &name) || is_checkpoint_table(&name) {
            scope.hidden.insert(lower);
            continue;
        }
        match kind.as_str() {
            "table" => match masked_columns(session, &name) {
                Ok(masked) => drop(scope.visible.insert(lower, masked)),
                Err(_) => drop(scope.hidden.insert(lower)),
            },
            // Writers do not read them.
            "view" if session.reader_state().is_some() => {
                scope.visible.insert(lower, Vec::new());
                views.push(name);
            }
            _ => {
                scope.hidden.insert(lower);
            }
        }
    }
    scope.roots = root_pages(session)?;
    let scope = check_views(session, Arc::new(scope), views)?;
    session.tables.scope = Some(Arc::clone(&scope));
    Ok(scope)
}

/// Hides views that read hidden tables, tables with masked columns, or hidden views.
fn check_views(
    session: &mut Session<'_>,
    mut scope: Arc<SqlScope>,
    mut views: Vec<String>,
) -> Result<Arc<SqlScope>, Error> {
    loop {
        let mut shown = Vec::with_capacity(views.len());
        let mut rest = SqlScope::clone(&scope);
        for view in &views {
            if program::shows_view(session, &scope, view)? {
                shown.push(view.clone());
                continue;
            }
            let lower = view.to_ascii_lowercase();
            rest.visible.remove(&lower);
            rest.hidden.insert(lower);
        }
        if shown.len() == views.len() {
            return Ok(scope);
        }
        (scope, views) = (Arc::new(rest), shown);
    }
}

/// The masked columns of a table, in lower case.
fn masked_columns(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, Error> {
    if !session.config().rules.may_mask(None, name) {
        return Ok(Vec::new());
    }
    let table = load(session, name.to_owned(), TableKind::Table, false)?;
    let masked = table.columns.iter().filter(|column| column.mask.is_some());
    Ok(masked.map(|column| column.name.to_ascii_lowercase()).collect())
}

/// The tables by the root pages of their b-trees and those of their indexes.
fn root_pages(session: &mut Session<'_>) -> Result<HashMap<i64, String>, Error> {
    let pages = session.rows(
        "SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0",
        &[],
        |row| Ok((row.get::<_, i64>(0)?, value::name(row, 1)?)),
    )?;
    let named =
        |(page, name): (i64, Result<String, String>)| Some((page, name.ok()?.to_ascii_lowercase()));
    Ok(pages.into_iter().filter_map(named).collect())
}

/// Reads the columns of a table.
pub(super) fn load(
    session: &mut Session<'_>,
    name: String,
    kind: TableKind,
    without_rowid: bool,
) -> Result<Table, Error> {
    let found = columns(session, &name).map_err(|error| error.on_table(&name))?;
    let mut table = Table {
        dialect: Dialect::Sqlite,
        schema: None,
        name,
        kind,
        without_rowid,
        columns: Vec::new(),
        unreadable_columns: Vec::new(),
        unique_key: Vec::new(),
        constraints: Vec::new(),
    };
    for column in found {
        match column {
            Ok(column) => table.columns.push(column),
            Err(name) => table.unreadable_columns.push(name),
        }
    }
    let name = table.name.clone();
    table.mask_columns(&session.config().rules, std::iter::once((None, name.as_str())));
    if table.has_masks() {
        table.constraints = constraints(session, &table)?;
    }
    Ok(table)
}

/// The primary key, the unique indexes, the foreign keys and the checks of a table. The columns of expressions are
/// those whose names are in the SQL text.
fn constraints(session: &mut Session<'_>, table: &Table) -> Result<Vec<Constraint>, Error> {
    let key = table.columns.iter().filter(|column| column.key_place > 0);
    let key: Vec<String> = key.map(|column| column.name.clone()).collect();
    let named = |names: &[String]| {
        let is_named = |name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
        let is_row_number = ["rowid", "_rowid_", "oid"].into_iter().any(is_named);
        let columns = table
            .columns
            .iter()
            .filter(|column| is_named(&column.name) || is_row_number && column.key_place > 0);
        columns.map(|column| column.name.clone()).collect()
    };
    let mut constraints = Vec::new();
    // NULL is a new number of a row.
    let kind = if key.len() == 1 { ConstraintKind::UniqueColumn } else { ConstraintKind::Unique };
    constraints.push(Constraint { kind, columns: key });
    let indexes = session.rows(
        "SELECT list.name, (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name), \
         list.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(list.name) WHERE \"key\" AND cid < -1) \
         FROM pragma_index_list(?1) AS list WHERE list.\"unique\"",
        &[&table.name],
        |row| Ok((value::some_text(row, 0)?, value::text(row, 1)?, row.get::<_, bool>(2)?)),
    )?;
    for (index, sql, has_expressions) in indexes {
        let names = match sql {
            Some(sql) if has_expressions => {
                tokens::names(&sql).into_iter().map(|name| name.text).collect()
            }
            _ => session.rows(
                "SELECT coalesce(name, 'rowid') FROM pragma_index_xinfo(?1) WHERE \"key\"",
                &[&index],
                |row| value::some_text(row, 0),
            )?,
        };
        let is_column = names.len() == 1;
        let kind = if is_column { ConstraintKind::UniqueColumn } else { ConstraintKind::Unique };
        constraints.push(Constraint { kind, columns: named(&names) });
    }
    let keys = session.rows(
        "SELECT json_group_array(\"from\") FROM pragma_foreign_key_list(?1) GROUP BY id",
        &[&table.name],
        |row| value::some_text(row, 0),
    )?;
    for names in keys.iter().filter_map(|names| serde_json::from_str::<Vec<String>>(names).ok()) {
        constraints.push(Constraint { kind: ConstraintKind::Check, columns: named(&names) });
    }
    let definitions = session.rows(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1",
        &[&table.name],
        |row| value::text(row, 0),
    )?;
    for sql in definitions.iter().flatten() {
        let checks = tokens::checks(sql).into_iter();
        constraints.extend(
            checks.map(|names| Constraint { kind: ConstraintKind::Check, columns: named(&names) }),
        );
    }
    Ok(constraints)
}

/// The names and kinds of the tables and views of callers, and whether they have no row numbers, in the order of the
/// names.
pub(super) fn listed_tables(
    session: &mut Session<'_>,
) -> Result<Vec<(String, TableKind, bool)>, Error> {
    let found = session.rows(
        "SELECT name, type, wr FROM pragma_table_list AS list \
         WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        &[],
        |row| {
            let (kind, without_rowid): (String, bool) = (row.get(1)?, row.get(2)?);
            Ok(value::name(row, 0)?.map(|name| (name, kind, without_rowid)))
        },
    )?;
    scope(session)?;
    let found = found.into_iter().flatten();
    let visible = found.filter(|(name, kind, _)| session.shows(name, kind));
    let table =
        |(name, kind, without_rowid): (String, String, bool)| (name, kind_of(&kind), without_rowid);
    Ok(visible.map(table).collect())
}

/// The names of all tables and views, with those of their columns.
pub(super) fn names_and_columns(session: &mut Session<'_>) -> Result<Vec<TableNames>, Error> {
    let mut tables = Vec::new();
    for (name, _) in named_tables(session)? {
        // One that SQLite cannot open has no columns.
        let found = columns(session, &name).or_else(unless_interrupted)?;
        let columns = found.into_iter().filter_map(|column| Some(column.ok()?.name)).collect();
        tables.push(TableNames { schema: None, name, columns });
    }
    Ok(tables)
}

/// Nothing instead of what cannot be read, unless the call was interrupted.
pub(super) fn unless_interrupted<T: Default>(error: Error) -> Result<T, Error> {
    match error.class() {
        ErrorClass::Request | ErrorClass::Forbidden | ErrorClass::Database => Ok(T::default()),
        ErrorClass::Limit | ErrorClass::Cancelled | ErrorClass::Retry => Err(error),
    }
}

/// The kind that `pragma_table_list` reports.
pub(super) fn kind_of(name: &str) -> TableKind {
    match name {
        "view" => TableKind::View,
        "virtual" => TableKind::Virtual,
        _ => TableKind::Table,
    }
}

/// The columns of a table, or the displayable form of a name that is not valid UTF-8.
fn columns(session: &mut Session<'_>, table: &str) -> Result<Vec<Result<Column, String>>, Error> {
    session.rows(
        "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)",
        &[table],
        |row| {
            let name = match value::name(row, 0)? {
                Ok(name) => name,
                Err(shown) => return Ok(Err(shown)),
            };
            Ok(Ok(Column {
                name,
                declared_type: value::some_text(row, 1)?,
                not_null: row.get(2)?,
                default: value::text(row, 3)?,
                base_type: None,
                key_place: row.get(4)?,
                visibility: match row.get::<_, u32>(5)? {
                    1 => Visibility::Hidden,
                    2 => Visibility::GeneratedVirtual,
                    3 => Visibility::GeneratedStored,
                    _ => Visibility::Normal,
                },
                mask: None,
            }))
        },
    )
}

/// The statement that created a table or view, unless it names a hidden one.
pub(super) fn ddl(session: &mut Session<'_>, table: &str) -> Result<Option<String>, Error> {
    let found = session.rows(
        "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1",
        &[table],
        |row| value::text(row, 0),
    )?;
    let Some(ddl) = found.into_iter().next().flatten() else { return Ok(None) };
    Ok(if mentions_hidden(session, &ddl)? { None } else { Some(ddl) })
}

/// Adds existing names to the error of a statement in SQL that names an unknown table or column.
pub(super) fn suggest_names(session: &mut Session<'_>, sql: &str, error: Error) -> Error {
    let Error::Sql { mut message, offset, table, column, report, .. } = error else { return error };
    let candidates = match (&table, &column) {
        // A function of the shell that returns a table.
        (Some(table), None) if table.eq_ignore_ascii_case("generate_series") => {
            message.push_str("; use WITH RECURSIVE");
            Ok(Vec::new())
        }
        (Some(table), None) if message.starts_with("no such table: ") => {
            table_names(session).map(|names| nearest_names(table, names.iter()))
        }
        (_, Some(column))
            if message.contains("no such column: ")
                || message.contains(" has no column named ") =>
        {
            let names = column_names(session, sql);
            names.map(|names| nearest_names(column, names.iter()))
        }
        _ => Ok(Vec::new()),
    };
    // A suggestion is optional, so its own failure does not matter.
    let candidates = candidates.unwrap_or_default();
    Error::Sql { message, offset, table, column, candidates, report }
}

/// The columns of the tables whose names occur in a statement, without duplicates.
fn column_names(session: &mut Session<'_>, sql: &str) -> Result<Vec<String>, Error> {
    const MAX_TABLES: usize = 8;
    let sql = sql.to_ascii_lowercase();
    let is_named = |name: &String| sql.contains(&name.to_ascii_lowercase());
    let tables: Vec<String> = table_names(session)?.into_iter().filter(is_named).collect();
    let mut names: Vec<String> = Vec::new();
    for table in tables.iter().take(MAX_TABLES) {
        // One that SQLite cannot open has no columns.
        let Ok(table) = session.table(table) else { continue };
        names.extend(table.visible_columns().map(|column| column.name.clone()));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Whether a text contains the name of a table that callers do not see. Quotes in names are doubled in the text.
pub(super) fn mentions_hidden(session: &mut Session<'_>, text: &str) -> Result<bool, Error> {
    if session.config().rules.is_empty() {
        return Ok(false);
    }
    scope(session)?;
    let named = named_tables(session)?;
    let hidden = named.iter().filter(|(name, kind)| !session.shows(name, kind));
    let names = tokens::names(text);
    let text = text.to_lowercase();
    let is_word_part = |character: char| character.is_alphanumeric() || character == '_';
    let contains = |(name, _): &(String, String)| {
        let is_name = names.iter().any(|one| one.text.eq_ignore_ascii_case(name));
        let name = name.to_lowercase();
        is_name
            || text.match_indices(&name).any(|(start, _)| {
                let rest = text.get(start + name.len()..).unwrap_or_default();
                !text[..start].ends_with(is_word_part) && !rest.starts_with(is_word_part)
            })
    };
    Ok(hidden.into_iter().any(contains))
}

fn table_names(session: &mut Session<'_>) -> Result<Vec<String>, Error> {
    scope(session)?;
    let named = named_tables(session)?.into_iter();
    let visible = named.filter(|(name, kind)| kind != "shadow" && session.shows(name, kind));
    Ok(visible.map(|(name, _)| name).collect())
}

/// The names and kinds of all tables.
fn named_tables(session: &mut Session<'_>) -> Result<Vec<(String, String)>, Error> {
    let named = session.rows(
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main'",
        &[],
        |row| Ok((value::name(row, 0)?, row.get::<_, String>(1)?)),
    )?;
    Ok(named.into_iter().filter_map(|(name, kind)| Some((name.ok()?, kind))).collect())
}

fn unknown_table(session: &mut Session<'_>, name: &str) -> Result<Error, Error> {
    let names = table_names(session)?;
    Ok(Error::UnknownTable {
        table: name.to_owned(),
        candidates: nearest_names(name, names.iter()),
    })
}
