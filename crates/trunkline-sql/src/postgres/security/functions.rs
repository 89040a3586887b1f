//! Functions that callers must not call, even if the role may: they reach files, other servers or other sessions, run
//! SQL from text, or leave something behind after the transaction.

/// Beginnings of names. One that ends with an underscore matches a family.
const FORBIDDEN: &[&str] = &[
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
    "lo_",
    "loread",
    "lowrite",
    // Other servers.
    "dblink",
    "postgres_fdw_",
    // SQL from text, which this check does not see.
    "query_to_xml",
    "cursor_to_xml",
    "table_to_xml",
    "schema_to_xml",
    "database_to_xml",
    "ts_stat",
    "ts_rewrite",
    "crosstab",
    "connectby",
    "xpath_table",
    // Settings and other sessions.
    "set_config",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_log_backend_memory_contexts",
    "pg_advisory_",
    "pg_try_advisory_",
    "pg_notify",
    "pg_stat_reset",
    // Replication, backups and maintenance.
    "pg_logical_",
    "pg_replication_",
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
    "pg_import_system_collations",
    "pg_prewarm",
    "autoprewarm_",
    "brin_summarize_",
    "brin_desummarize_",
    "gin_clean_pending_list",
    "binary_upgrade_",
    "pg_set_",
    "pg_restore_",
    "pg_clear_",
];

/// Whether calls of a function are refused.
pub(super) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.iter().any(|beginning| name.starts_with(beginning))
}
