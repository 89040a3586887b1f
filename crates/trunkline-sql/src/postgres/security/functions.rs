//! Functions that callers must not call, even if the role may: they reach files, other servers or other sessions, run
//! SQL from text, or leave something behind after the transaction.

use super::tokens::Token;

/// Names.
const NAMES: &[&str] = &[
    // Files and programs of the server.
    "lo_close",
    "lo_creat",
    "lo_create",
    "lo_export",
    "lo_from_bytea",
    "lo_get",
    "lo_import",
    "lo_lseek",
    "lo_lseek64",
    "lo_manage",
    "lo_open",
    "lo_put",
    "lo_tell",
    "lo_tell64",
    "lo_truncate",
    "lo_truncate64",
    "lo_unlink",
    "loread",
    "lowrite",
    // Other servers.
    "dblink",
    "http",
    "http_collect_response",
    "http_delete",
    "http_get",
    "http_head",
    "http_patch",
    "http_post",
    "http_put",
    "http_reset_curlopt",
    "http_set_curlopt",
    "master_run_on_worker",
    "query_export_to_s3",
    "table_import_from_s3",
    // SQL from text, which this check does not see.
    "connectby",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
    // Rows by their place in a table, which is a text.
    "currtid",
    "currtid2",
    // Settings and states of the connection, which other callers use afterwards.
    "set_config",
    "setseed",
];

/// Beginnings of names.
const FAMILIES: &[&str] = &[
    // Files and programs of the server.
    "pg_read_file",
    "pg_read_binary_file",
    "pg_ls_",
    "pg_stat_file",
    "pg_file_",
    "pg_logfile_",
    "pg_logdir_ls",
    "pg_current_logfile",
    "pg_export_snapshot",
    // Other servers.
    "dblink_",
    "postgres_fdw_",
    "run_command_on_",
    // SQL from text, which this check does not see.
    "query_to_xml",
    "cursor_to_xml",
    "table_to_xml",
    "schema_to_xml",
    "database_to_xml",
    "crosstab",
    "pg_background_",
    // Other sessions.
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_log_",
    "pg_advisory_",
    "pg_try_advisory_",
    "pg_notify",
    "pg_stat_reset",
    "pg_stat_statements_reset",
    // Replication, backups and maintenance.
    "pg_logical_",
    "pg_replication_origin_",
    "pg_replication_slot_",
    "pg_create_",
    "pg_drop_",
    "pg_copy_",
    "pg_sync_replication_slots",
    "pg_backup_",
    "pg_start_backup",
    "pg_stop_backup",
    "pg_switch_",
    "pg_promote",
    "pg_wal_replay_",
    "pg_get_wal_record",
    "pg_get_wal_block",
    "pg_import_system_collations",
    "pg_prewarm",
    "autoprewarm_",
    "brin_summarize_",
    "brin_desummarize_",
    "gin_clean_pending_list",
    "heap_force_",
    "pg_truncate_",
    "binary_upgrade_",
    "pg_set_",
    "pg_restore_",
    "pg_clear_",
];

/// Whether calls of a function are refused.
pub(in crate::postgres) fn is_forbidden(name: &str) -> bool {
    NAMES.contains(&name) || FAMILIES.iter().any(|beginning| name.starts_with(beginning))
}

/// A name in a statement that can be that of a called function.
pub(in crate::postgres) struct Called<'t> {
    pub(in crate::postgres) name: &'t str,
    /// Whether it can be the name of a column instead.
    pub(in crate::postgres) is_field: bool,
}

/// The names in a statement that can be those of called functions: before a parenthesis, after a dot, since `t.f` and
/// `(a).f` are `f(a)`, and as the type of `TREAT`, since `TREAT(a AS f)` is `f(a)`, too.
pub(in crate::postgres) fn called_names<'t>(
    tokens: impl Iterator<Item = &'t Token>,
) -> Vec<Called<'t>> {
    #[derive(PartialEq, Eq)]
    enum Parenthesis {
        Treat,
        /// That of `TREAT`, after `AS`.
        TreatType,
        Other,
    }
    let mut called = Vec::new();
    let mut open: Vec<Parenthesis> = Vec::new();
    let mut before: Option<&Token> = None;
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        let is_call = tokens.peek() == Some(&&Token::Sign('('));
        let is_field = before == Some(&Token::Sign('.'));
        let is_type = open.last() == Some(&Parenthesis::TreatType);
        match token {
            Token::Sign('(') if before.is_some_and(|token| token.is("treat")) => {
                open.push(Parenthesis::Treat);
            }
            Token::Sign('(') => open.push(Parenthesis::Other),
            Token::Sign(')') => drop(open.pop()),
            token if token.is("as") && open.last() == Some(&Parenthesis::Treat) => {
                open.pop();
                open.push(Parenthesis::TreatType);
            }
            token => {
                if let Some(name) = token.name().filter(|_| is_call || is_field || is_type) {
                    called.push(Called { name, is_field: is_field && !is_call && !is_type });
                }
            }
        }
        before = Some(token);
    }
    called
}
