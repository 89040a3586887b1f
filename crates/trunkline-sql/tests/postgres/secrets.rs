//! System tables with passwords, connection strings, and stored values of any table.

use serde_json::json;
use trunkline_sql::VisibilityRules;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::transfer::{ExportFormat, ExportRows, ExportSender};

use crate::fixture::{Fixture, call, connect, kind, runtime};
use crate::server::{create_database, url_of};

/// Reads that the role `auditor`, a member of `pg_read_all_data`, is permitted by the server.
const SECRETS: &[&str] = &[
    "SELECT rolpassword FROM pg_authid",
    "TABLE pg_catalog.pg_authid",
    "SELECT to_jsonb(a) FROM \"pg_authid\" AS a",
    "SELECT count(*) FROM pg_class NATURAL JOIN PG_Authid",
    "SELECT (SELECT min(passwd) FROM pg_shadow)",
    "SELECT * FROM pg_shadow",
    "SELECT umoptions FROM pg_user_mapping",
    "SELECT umoptions FROM pg_user_mappings",
    "SELECT option_value FROM information_schema.user_mapping_options",
    "SELECT srvoptions FROM pg_foreign_server",
    "SELECT * FROM information_schema.foreign_server_options",
    "SELECT subconninfo FROM pg_subscription",
    "SELECT stavalues1 FROM pg_statistic",
    "SELECT stxdmcv FROM pg_statistic_ext_data",
    "SELECT chunk_data FROM pg_toast.pg_toast_2619",
    "SELECT data FROM pg_largeobject",
    "SELECT * FROM pg_hba_file_rules",
    "SELECT * FROM pg_hba_file_rules()",
    "SELECT * FROM pg_ident_file_mappings",
    "SELECT * FROM pg_file_settings",
    "SELECT pg_show_all_file_settings()",
    "EXPLAIN ANALYZE SELECT rolpassword FROM pg_authid",
    "WITH a AS (TABLE pg_authid) SELECT * FROM a",
];

/// Reads of system tables without secrets.
const PERMITTED: &[&str] = &[
    "SELECT rolname, rolpassword FROM pg_roles",
    "SELECT * FROM pg_user",
    "SELECT relname FROM pg_class",
    "SELECT tablename, attname, null_frac FROM pg_stats",
    "SELECT * FROM pg_settings",
    "SELECT * FROM pg_stat_subscription",
    "SELECT * FROM pg_subscription_rel",
    "SELECT oid FROM pg_largeobject_metadata",
    "SELECT * FROM information_schema.tables",
    "SELECT 'pg_authid' AS name -- pg_shadow",
];

fn fixture(config: PostgresConfig) -> Fixture {
    let runtime = runtime();
    let name = create_database("CREATE TABLE hidden (id int);");
    let database = runtime.block_on(connect(&url_of("auditor", &name), config)).unwrap();
    Fixture { name, database: database.into(), runtime }
}

#[track_caller]
fn check(fixture: &Fixture, operation: &str, sql: &str, read_only: bool, expected: &str) {
    let arguments = match operation {
        "explain_query" => json!({ "query": sql }),
        _ => json!({ "query": sql, "read_only": read_only }),
    };
    let outcome = fixture.runtime.block_on(call(&fixture.database, operation, arguments));
    assert_eq!(kind(&outcome), expected, "{operation} {sql}: {outcome:.300?}");
    if let Err(error) = outcome {
        assert!(error.to_string().contains("secrets"), "{operation} {sql}: {error}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn system_tables_with_secrets_are_refused() {
    let fixture = fixture(PostgresConfig { writable: true, ..PostgresConfig::default() });
    for sql in SECRETS {
        check(&fixture, "execute_raw_query", sql, true, "forbidden");
        check(&fixture, "explain_query", sql, true, "forbidden");
        let (sender, _parts) = ExportSender::channel();
        let export = ExportRows::query(*sql, None, ExportFormat::Csv);
        let exported = fixture.runtime.block_on(fixture.database.export_rows(export, sender));
        assert_eq!(kind(&exported), "forbidden", "{sql}: {exported:?}");
    }
    for sql in [
        "CREATE VIEW v AS TABLE pg_authid",
        "CREATE TABLE t AS SELECT * FROM pg_shadow",
        "SELECT rolpassword INTO t FROM pg_authid",
        "INSERT INTO hidden SELECT oid::int FROM pg_user_mapping",
    ] {
        check(&fixture, "execute_raw_query", sql, false, "forbidden");
    }
    for sql in PERMITTED {
        check(&fixture, "execute_raw_query", sql, true, "ok");
    }
    for operation in ["query_records", "describe_table", "profile_table"] {
        for table in ["pg_authid", "pg_catalog.pg_authid", "pg_catalog.pg_shadow"] {
            let arguments = json!({ "table_name": table });
            let outcome = fixture.runtime.block_on(call(&fixture.database, operation, arguments));
            assert_eq!(kind(&outcome), "unknown_table", "{operation} {table}: {outcome:?}");
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn rules_refuse_all_system_tables() {
    let rules = VisibilityRules::default().deny("hidden".parse().unwrap()).allow_unmatched();
    let fixture = fixture(PostgresConfig { rules, ..PostgresConfig::default() });
    for sql in SECRETS {
        check(&fixture, "execute_raw_query", sql, true, "forbidden");
    }
}
