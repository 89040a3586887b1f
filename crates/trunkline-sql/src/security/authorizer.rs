use std::collections::HashSet;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// Functions that reach outside of the database.
const DENIED_FUNCTIONS: [&str; 6] =
    ["edit", "fts3_tokenizer", "load_extension", "readfile", "sqlite_log", "writefile"];

/// Pragmas that describe the schema; their value is the name that they describe.
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

/// Pragmas that read one number or word, and would set it if they were given a value. Not among them:
/// `database_list`, which tells where the file lies.
const READING_PRAGMAS: [&str; 9] = [
    "application_id",
    // FTS5 asks for it whenever it reads an index.
    "data_version",
    "encoding",
    "freelist_count",
    "page_count",
    // FTS3 and R-Tree ask for it when they open a table.
    "page_size",
    "pragma_list",
    "schema_version",
    "user_version",
];

/// Lets a connection compile reading statements, and denies all else.
pub(super) fn install(connection: &Connection) -> rusqlite::Result<()> {
    let shadows = rtree_shadows(connection)?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if is_allowed(&context.action, &shadows) {
            Authorization::Allow
        } else {
            Authorization::Deny
        }
    }))
}

fn is_allowed(action: &AuthAction<'_>, shadows: &HashSet<String>) -> bool {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !is_one_of(&DENIED_FUNCTIONS, function_name),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            is_one_of(&DESCRIBING_PRAGMAS, pragma_name)
                || (pragma_value.is_none() && is_one_of(&READING_PRAGMAS, pragma_name))
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => shadows.contains(*table_name),
        _ => false,
    }
}

/// SQLite's names match in either case.
fn is_one_of(known: &[&str], name: &str) -> bool {
    known.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// The tables in which R-Tree indexes keep their nodes.
///
/// R-Tree compiles its writing statements when a table is first read, and could not be read at all if the
/// authorizer denied them. A caller's own write to these tables is refused by the defensive mode, which
/// knows who asks, then by `readonly()`, by `query_only`, and by the file. An R-Tree that another process
/// creates later can be read from the next connection on.
fn rtree_shadows(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare(
        "SELECT name || suffix FROM sqlite_schema, \
         (SELECT '_node' AS suffix UNION ALL SELECT '_rowid' UNION ALL SELECT '_parent') \
         WHERE type = 'table' AND rootpage = 0 \
         AND (sql LIKE '%using%rtree%' OR sql LIKE '%using%geopoly%')",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}
