use std::collections::HashSet;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::role::{Role, WriterState};
use crate::sqlite::value;

/// Functions with effects outside of the database, and those that run SQL on tables whose names are values.
const DENIED_FUNCTIONS: [&str; 8] = [
    "edit",
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "rtreecheck",
    "sqlite_log",
    "sqlite_offset",
    "writefile",
];

/// Pragmas that describe the schema. Their value is a name.
const DESCRIBING_PRAGMAS: [&str; 10] = [
    "collation_list",
    "compile_options",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that read a setting, and set it if they have a value. `database_list` is not included, since it reveals the
/// path of the file.
const READING_PRAGMAS: [&str; 9] = [
    "application_id",
    // FTS5 reads it with each access to an index.
    "data_version",
    "encoding",
    "freelist_count",
    "page_count",
    // FTS3 and R-Tree read it when they open a table.
    "page_size",
    "pragma_list",
    "schema_version",
    "user_version",
];

/// Pragmas that `ALTER TABLE ... ADD COLUMN` runs to check the existing rows.
const ALTERING_PRAGMAS: [&str; 1] = ["quick_check"];

/// Modules of virtual tables that callers may create. They store their content in the same file.
const CREATABLE_MODULES: [&str; 3] = ["fts5", "rtree", "rtree_i32"];

/// Functions that reveal effects of the previous statement of the connection, which belongs to another caller.
/// Triggers may use them, since their statement belongs to the same caller.
const STATEFUL_FUNCTIONS: [&str; 3] = ["changes", "last_insert_rowid", "total_changes"];

/// Installs the authorizer, which checks each action of every statement that a connection compiles.
pub(super) fn install(connection: &Connection, role: &Role) -> rusqlite::Result<()> {
    match role {
        Role::Reader(reader_state) => {
            let shadows = rtree_shadows(connection)?;
            let reader_state = reader_state.clone();
            connection.authorizer(Some(move |context: AuthContext<'_>| {
                let of_rules = reader_state.verdict(&context);
                verdict(of_rules.unwrap_or_else(|| may_read(&context.action, &shadows)))
            }))
        }
        Role::Writer(writer_state) => {
            let writer_state = writer_state.clone();
            connection.authorizer(Some(move |context: AuthContext<'_>| {
                match context.action {
                    // Makes SQLite delete the rows one by one, so that the update hook counts them.
                    AuthAction::Delete { .. }
                        if context.accessor.is_some() && may_write(&context, &writer_state) =>
                    {
                        Authorization::Ignore
                    }
                    _ => verdict(may_write(&context, &writer_state)),
                }
            }))
        }
    }
}

fn verdict(is_allowed: bool) -> Authorization {
    if is_allowed { Authorization::Allow } else { Authorization::Deny }
}

/// The actions that both roles may take.
fn only_reads(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !is_one_of(&DENIED_FUNCTIONS, function_name),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            is_one_of(&DESCRIBING_PRAGMAS, pragma_name)
                || (pragma_value.is_none() && is_one_of(&READING_PRAGMAS, pragma_name))
        }
        _ => false,
    }
}

fn may_read(action: &AuthAction<'_>, shadows: &HashSet<String>) -> bool {
    match action {
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => shadows.contains(*table_name),
        _ => only_reads(action),
    }
}

/// Rows and schema of the one database. Not allowed: other files, temporary objects, transactions,
/// configuration, and SQLite's internal tables. A direct write to `sqlite_schema` or to the
/// shadow tables of a virtual one is refused by SQLite, which knows the origin of the write.
fn may_write(context: &AuthContext<'_>, writer_state: &WriterState) -> bool {
    // `CREATE TABLE temp.t` is reported as the creation of an ordinary table in another database.
    let database = match context.action {
        // For this action it is the column to drop, and the action itself has the database.
        AuthAction::AlterTable { .. } => None,
        _ => context.database_name,
    };
    if database.is_some_and(|name| !name.eq_ignore_ascii_case("main")) {
        return may_touch_temporary(&context.action, writer_state);
    }
    match &context.action {
        AuthAction::Function { function_name } if context.accessor.is_none() => {
            !is_one_of(&STATEFUL_FUNCTIONS, function_name) && only_reads(&context.action)
        }
        AuthAction::Pragma { pragma_name, .. } if is_one_of(&ALTERING_PRAGMAS, pragma_name) => true,
        AuthAction::Insert { table_name } => {
            if context.accessor.is_none() && !writer_state.changes_schema() {
                writer_state.record(|facts| (*table_name).clone_into(&mut facts.insertion_table));
            }
            writer_state.record_write(table_name);
            may_change_rows(table_name, writer_state)
        }
        AuthAction::Update { table_name, .. } | AuthAction::Delete { table_name } => {
            writer_state.record_write(table_name);
            may_change_rows(table_name, writer_state)
        }
        AuthAction::CreateIndex { table_name, .. } => {
            writer_state.record_schema_change();
            writer_state.record(|facts| facts.indexed_table = Some((*table_name).to_owned()));
            writer_state.record_definition(Some(table_name));
            true
        }
        AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::DropVtable { table_name, .. }
        | AuthAction::DropView { view_name: table_name } => {
            writer_state.record_schema_change();
            writer_state.record_definition(Some(table_name));
            true
        }
        AuthAction::CreateTable { .. }
        | AuthAction::CreateView { .. }
        // Reported when an index is built.
        | AuthAction::Reindex { .. } => {
            writer_state.record_schema_change();
            true
        }
        AuthAction::DropTable { table_name } => {
            writer_state.record_schema_change();
            writer_state.record(|facts| facts.dropped_table = Some((*table_name).to_owned()));
            !is_of_sqlite(table_name)
        }
        AuthAction::AlterTable { database_name, table_name } => {
            writer_state.record_schema_change();
            // Renaming changes the definitions of other tables.
            writer_state.record_definition(None);
            database_name.eq_ignore_ascii_case("main") && !is_of_sqlite(table_name)
        }
        AuthAction::CreateVtable { module_name, .. } => {
            writer_state.record_schema_change();
            is_one_of(&CREATABLE_MODULES, module_name)
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            writer_state.allows_transaction()
        }
        action => only_reads(action),
    }
}

/// `ALTER TABLE ... RENAME` updates temporary views and triggers. No such objects exist here.
fn may_touch_temporary(action: &AuthAction<'_>, writer_state: &WriterState) -> bool {
    const SCHEMA: [&str; 2] = ["sqlite_temp_master", "sqlite_temp_schema"];
    match action {
        AuthAction::Update { table_name, .. } => {
            writer_state.changes_schema() && is_one_of(&SCHEMA, table_name)
        }
        action => only_reads(action),
    }
}

fn may_change_rows(table: &str, writer_state: &WriterState) -> bool {
    // Each change of the schema is first reported as a change of the rows of this table.
    const SCHEMA: [&str; 2] = ["sqlite_master", "sqlite_schema"];
    !is_of_sqlite(table) || is_one_of(&SCHEMA, table) || writer_state.changes_schema()
}

/// SQLite's internal tables.
fn is_of_sqlite(table: &str) -> bool {
    table.get(..7).is_some_and(|prefix| prefix.eq_ignore_ascii_case("sqlite_"))
}

/// Compares names as SQLite does, ignoring case.
fn is_one_of(known: &[&str], name: &str) -> bool {
    known.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// The tables in which R-Tree indexes keep their nodes.
///
/// R-Tree compiles its writing statements when a table is first read, and cannot be read if the authorizer denies
/// them. Writes of callers to these tables are refused by the defensive mode, by `readonly()`, by `query_only`, and by
/// the file. An R-Tree that another process creates later can be read by new connections only.
fn rtree_shadows(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare(
        "SELECT name || suffix FROM sqlite_schema, \
         (SELECT '_node' AS suffix UNION ALL SELECT '_rowid' UNION ALL SELECT '_parent') \
         WHERE type = 'table' AND rootpage = 0 \
         AND (sql LIKE '%using%rtree%' OR sql LIKE '%using%geopoly%')",
    )?;
    let names = statement.query_map([], |row| value::name(row, 0))?;
    // An action with a name that is not valid UTF-8 is refused before.
    names.filter_map(|name| name.map(Result::ok).transpose()).collect()
}
