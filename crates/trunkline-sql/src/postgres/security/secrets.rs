//! System tables with secrets, which callers must not read, even if the role may: passwords, connection strings, and
//! stored values of any table. Other columns of these tables are in views without them, such as `pg_roles`.

/// Names of tables, views, and the functions that views call.
const NAMES: &[&str] = &[
    // Passwords of roles.
    "pg_authid",
    "pg_shadow",
    // Files of the server: authentication, and settings such as `primary_conninfo`.
    "pg_file_settings",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_show_all_file_settings",
    // Passwords for other servers.
    "_pg_user_mappings",
    "pg_dist_authinfo",
    "pg_subscription",
    "pg_user_mapping",
    "pg_user_mappings",
    "user_mapping_options",
    // Options of other servers, which can be keys.
    "foreign_data_wrapper_options",
    "foreign_server_options",
    "foreign_table_options",
    // Values of tables and large objects, whose privileges do not apply.
    "pg_largeobject",
    "pg_statistic",
    "pg_statistic_ext_data",
];

/// Beginnings of names.
const FAMILIES: &[&str] = &["_pg_foreign_", "pg_foreign_", "pg_toast"];

/// Whether a name is that of a system table with secrets.
pub(super) fn has_secrets(name: &str) -> bool {
    NAMES.contains(&name) || FAMILIES.iter().any(|beginning| name.starts_with(beginning))
}
