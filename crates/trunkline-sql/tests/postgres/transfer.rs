//! Exports and imports.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_sql::change::OnConflict;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::transfer::{
    CHECKPOINT_TABLE, Checkpoint, CheckpointRequest, ExportFormat, ExportRows, ExportSender,
    Exported, ImportBatch, ImportRecord, Imported, RejectedRecord,
};
use trunkline_sql::{Database, Error, QueryLimits, VisibilityRules};

use crate::checkpoints;
use crate::fixture::{self, Fixture, PATIENCE, call, kind};
use crate::{server, visibility};

/// The text of an export, up to `max` parts, and its outcome unless it was dropped before.
fn export(
    fixture: &Fixture,
    request: ExportRows,
    max: usize,
) -> (String, Option<Result<Exported, Error>>) {
    let (sender, mut parts) = ExportSender::channel();
    let database = fixture.database.clone();
    fixture.runtime.block_on(async move {
        let mut text = Vec::new();
        let run = database.export_rows(request, sender);
        tokio::pin!(run);
        let mut outcome = None;
        let mut count = 0;
        while count < max {
            tokio::select! {
                biased;
                part = parts.recv() => match part {
                    Some(part) => { text.extend_from_slice(&part); count += 1; }
                    None => break,
                },
                ended = &mut run, if outcome.is_none() => outcome = Some(ended),
            }
        }
        (String::from_utf8(text).unwrap(), outcome)
    })
}

#[test]
#[ignore = "needs PostgreSQL"]
fn rows_in_each_format() {
    let fixture = Fixture::new(PostgresConfig::default());
    let all = |request| export(&fixture, request, usize::MAX);
    let (text, outcome) = all(ExportRows::table("PAIR", ExportFormat::Csv));
    let blob = |base64: &str, bytes: u8| {
        format!("\"{{\"\"$blob\"\":\"\"{base64}\"\",\"\"bytes\"\":{bytes}}}\"")
    };
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        format!("1,a,{}", blob("", 0)),
        format!("1,x,{}", blob("AP8=", 2)),
        "2,x,".to_owned(),
        "a,b,c".to_owned(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(outcome.unwrap().unwrap().rows, 3);
    let query = "SELECT 1 AS a, ARRAY[1, 2] AS a, 'x' AS t, 9007199254740993 AS big";
    let (text, _) = all(ExportRows::query(query, None, ExportFormat::NdJson));
    assert_eq!(text, "{\"a\":1,\"a_2\":[1,2],\"t\":\"x\",\"big\":\"9007199254740993\"}\n");
    let many = "SELECT i, 'row ' || i AS name FROM generate_series(1, 300000) AS i";
    let (text, outcome) = all(ExportRows::query(many, None, ExportFormat::Csv));
    assert_eq!(text.lines().count(), 300_001);
    assert_eq!(outcome.unwrap().unwrap().bytes, text.len() as u64);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn errors_and_limits() {
    let fixture = |export_timeout: Duration| {
        let limits =
            QueryLimits { max_export_rows: 100_000, export_timeout, ..QueryLimits::default() };
        Fixture::new(PostgresConfig { limits, ..PostgresConfig::default() })
    };
    let (patient, impatient) = (fixture(PATIENCE), fixture(Duration::from_secs(2)));
    for (sql, expected, has_parts) in [
        ("DELETE FROM emp", "forbidden", false),
        ("SELECT 1; SELECT 2", "multiple_statements", false),
        ("SELECT nothing", "sql", false),
        ("SELECT pg_sleep(60)", "timeout", false),
        ("SELECT 1 / (90000 - i) FROM generate_series(1, 99999) AS i", "sql", true),
        ("SELECT i FROM generate_series(1, 100001) AS i", "over_limit", true),
        ("SELECT i FROM generate_series(1, 100000) AS i", "ok", true),
    ] {
        let request = ExportRows::query(sql, None, ExportFormat::Csv);
        let fixture = if expected == "timeout" { &impatient } else { &patient };
        let (text, outcome) = export(fixture, request, usize::MAX);
        assert_eq!(kind(&outcome.unwrap()), expected, "{sql}");
        assert_eq!(!text.is_empty(), has_parts, "{sql}");
        assert!(fixture.sql("SELECT 1").is_ok());
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_dropped_export_ends_its_statement() {
    let fixture = Fixture::new(PostgresConfig::default());
    let endless = "SELECT generate_series(1, 1000000000000) AS i, repeat('x', 100) AS t";
    for _ in 0..4 {
        let request = ExportRows::query(endless, None, ExportFormat::Json);
        let (text, _) = export(&fixture, request, 5);
        assert!(text.len() > 300_000);
    }
    let deadline = Instant::now() + PATIENCE;
    let active = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND state = 'active' AND query LIKE '%1000000000000%' \
         AND pid <> pg_backend_pid()",
        fixture.name
    );
    while fixture.look(&active) != ["0"] {
        assert!(Instant::now() < deadline, "a statement still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn imports_reject_single_records() {
    let fixture = Fixture::writable();
    let records: Vec<ImportRecord> = [
        json!({"id": "10", "name": "Kim", "salary": "1.5"}),
        json!({"id": "x", "name": "Lee"}),
        json!({"id": "11", "name": "Ada"}),
        json!({"id": "12", "name": null}),
        json!({"id": "13", "name": "Max", "dept_no": "99"}),
        json!({"id": "14", "name": "Zoe", "nothing": "1"}),
        json!({"id": "15", "name": "Zoe", "dept_no": "10"}),
    ]
    .into_iter()
    .zip(2..)
    .map(|(data, line)| ImportRecord { line, data: data.as_object().unwrap().clone() })
    .collect();
    let checkpoint = |state: Value| Checkpoint { id: "i".to_owned(), state, rejected: Vec::new() };
    let request = |request| fixture.runtime.block_on(fixture.database.checkpoint(request));
    request(CheckpointRequest::Begin(checkpoint(json!(0)))).unwrap();
    let batch = ImportBatch {
        table_name: "emp".to_owned(),
        records,
        on_conflict: OnConflict::Abort,
        are_texts: true,
        checkpoint: Some(checkpoint(json!(7))),
    };
    let run = |batch| fixture.runtime.block_on(fixture.database.import_batch(batch));
    let Imported { inserted, rejected, .. } = run(batch).unwrap();
    let lines: Vec<u64> = rejected.iter().map(|one| one.line).collect();
    assert_eq!((inserted, lines), (2, vec![3, 4, 5, 6, 7]));
    assert_eq!(fixture.look("SELECT id FROM emp WHERE id >= 10 ORDER BY id"), ["10", "15"]);
    let id = || "i".to_owned();
    let found = request(CheckpointRequest::Read { id: id() }).unwrap().unwrap();
    assert_eq!((found.state, found.rejected.len()), (json!(7), 5));
    request(CheckpointRequest::End { id: id() }).unwrap();
    assert_eq!(fixture.look("SELECT to_regclass('trunkline_import') IS NULL"), ["t"]);
}

/// Records without a value, also next to others.
#[test]
#[ignore = "needs PostgreSQL"]
fn each_record_without_values_is_a_row() {
    for columns in ["(a int)", "(a int GENERATED ALWAYS AS (7) STORED)", "()"] {
        let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
        let fixture = Fixture::with(&format!("CREATE TABLE t {columns};"), config);
        let values = if columns == "()" { json!({}) } else { json!({"a": null}) };
        let data = [json!({}), json!({}), values, json!({}), json!({})];
        let record = |(line, data): (u64, Value)| ImportRecord {
            line,
            data: data.as_object().unwrap().clone(),
        };
        let batch = ImportBatch {
            table_name: "t".to_owned(),
            records: (1..).zip(data).map(record).collect(),
            on_conflict: OnConflict::Abort,
            are_texts: false,
            checkpoint: None,
        };
        let imported = fixture.runtime.block_on(fixture.database.import_batch(batch)).unwrap();
        assert_eq!((imported.inserted, imported.rejected.len()), (5, 0), "{columns}");
        assert_eq!(fixture.look("SELECT count(*) FROM t"), ["5"], "{columns}");
    }
}

/// A row that the server refuses is rejected, and a table that it refuses ends the import.
#[test]
#[ignore = "needs PostgreSQL"]
fn policies_and_checks_reject_single_records() {
    let setup = "CREATE TABLE t (id int PRIMARY KEY, tenant text);";
    for (further, expected) in [
        (
            "CREATE POLICY own ON t USING (tenant = 'a'); ALTER TABLE t ENABLE ROW LEVEL SECURITY; \
             ALTER TABLE t FORCE ROW LEVEL SECURITY;",
            Ok("violates row-level security policy for table \"t\""),
        ),
        (
            "CREATE POLICY own ON t AS RESTRICTIVE USING (tenant = 'a'); CREATE POLICY all_rows ON t USING (true); \
             ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY;",
            Ok("violates row-level security policy \"own\""),
        ),
        (
            "ALTER TABLE t RENAME TO u; CREATE VIEW t AS SELECT * FROM u WHERE tenant = 'a' WITH CHECK OPTION;",
            Ok("check option"),
        ),
        ("ALTER TABLE t ADD CHECK (tenant = 'a');", Ok("violates check constraint")),
        (
            "CREATE DOMAIN d AS text CHECK (VALUE = 'a'); ALTER TABLE t ALTER tenant TYPE d;",
            Ok("violates check constraint"),
        ),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.tenant <> 'a' THEN \
             RAISE insufficient_privilege USING MESSAGE = 'not yours'; END IF; RETURN NEW; END $$; \
             CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();",
            Ok("not yours"),
        ),
        ("REVOKE INSERT ON t FROM app;", Err("forbidden")),
    ] {
        let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
        let fixture = Fixture::with(&format!("{setup} {further}"), config);
        let record = |(line, tenant): (u64, &str)| ImportRecord {
            line,
            data: json!({"id": line, "tenant": tenant}).as_object().unwrap().clone(),
        };
        let batch = ImportBatch {
            table_name: "t".to_owned(),
            records: (1..).zip(["a", "b", "a"]).map(record).collect(),
            on_conflict: OnConflict::Abort,
            are_texts: false,
            checkpoint: None,
        };
        let imported = fixture.runtime.block_on(fixture.database.import_batch(batch));
        match expected {
            Ok(reason) => {
                let Imported { inserted, rejected, .. } = imported.unwrap();
                let lines: Vec<u64> = rejected.iter().map(|one| one.line).collect();
                assert_eq!((inserted, lines), (2, vec![2]), "{further}: {rejected:?}");
                assert!(rejected[0].reason.contains(reason), "{further}: {rejected:?}");
            }
            Err(expected) => assert_eq!(kind(&imported), expected, "{further}: {imported:?}"),
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn rules_apply() {
    let fixture = visibility::fixture(false);
    let (text, outcome) =
        export(&fixture, ExportRows::table("customer", ExportFormat::Csv), usize::MAX);
    assert_eq!(outcome.unwrap().unwrap().rows, 2);
    assert!(!text.contains("S3CRET") && text.contains("2qF_HdWLl2P_E410kZRDvg"), "{text}");
    for (request, expected) in [
        (ExportRows::table("hr.salary", ExportFormat::Json), "unknown_table"),
        (ExportRows::query("SELECT * FROM salary", None, ExportFormat::Json), "sql"),
        (ExportRows::query("SELECT id FROM pay", None, ExportFormat::Json), "sql"),
        (ExportRows::query("SELECT email FROM customer", None, ExportFormat::Json), "masked"),
    ] {
        let (text, outcome) = export(&fixture, request, usize::MAX);
        assert_eq!((text.as_str(), kind(&outcome.unwrap())), ("", expected));
    }
}

/// Imports that begin and end at the same time, by several processes.
#[test]
#[ignore = "needs PostgreSQL"]
fn imports_keep_the_checkpoints_of_each_other() {
    for isolation in ["read committed", "repeatable read"] {
        let fixture = Fixture::writable();
        let name = &fixture.name;
        fixture.look(&format!(
            "ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'"
        ));
        std::thread::scope(|scope| {
            for process in 0..4 {
                scope.spawn(move || {
                    let runtime = fixture::runtime();
                    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
                    let url = server::url_of("app", name);
                    let database: Database =
                        runtime.block_on(fixture::connect(&url, config)).unwrap().into();
                    let request = |request| runtime.block_on(database.checkpoint(request));
                    for import in 0..40 {
                        let id = || format!("{process}-{import}");
                        let read = || CheckpointRequest::Read { id: id() };
                        let checkpoint =
                            Checkpoint { id: id(), state: json!(import), rejected: Vec::new() };
                        assert!(request(read()).unwrap().is_none(), "{isolation}");
                        request(CheckpointRequest::Begin(checkpoint)).unwrap();
                        assert!(request(read()).unwrap().is_some(), "{isolation}: {}", id());
                        request(CheckpointRequest::End { id: id() }).unwrap();
                    }
                });
            }
        });
        let is_removed = fixture.look("SELECT to_regclass('trunkline_import') IS NULL");
        assert!(isolation == "repeatable read" || is_removed == ["t"]);
    }
}

/// The process of an interrupted import may be killed while the server commits its last transaction.
#[test]
#[ignore = "needs PostgreSQL"]
fn a_checkpoint_is_read_after_a_pending_commit() {
    let fixture = Fixture::writable();
    let checkpoint = |state| Checkpoint { id: "i".to_owned(), state, rejected: Vec::new() };
    let request = |request| fixture.runtime.block_on(fixture.database.checkpoint(request));
    request(CheckpointRequest::Begin(checkpoint(json!(0)))).unwrap();
    let pending = "WITH batch AS (UPDATE trunkline_import SET checkpoint = replace(checkpoint, ':0', ':1') RETURNING 1) \
                   SELECT pg_sleep(1) FROM batch";
    std::thread::scope(|scope| {
        scope.spawn(|| fixture.look(pending));
        fixture.until_running("WITH batch", 1);
        let found = request(CheckpointRequest::Read { id: "i".to_owned() }).unwrap();
        assert_eq!(found.unwrap().state, json!(1));
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn callers_do_not_see_checkpoints() {
    for rules in [VisibilityRules::default(), visibility::rules().allow_unmatched()] {
        let config = PostgresConfig { writable: true, rules, ..PostgresConfig::default() };
        let fixture = Fixture::new(config);
        let rejected = RejectedRecord {
            line: 1,
            column: None,
            reason: "SECRET".to_owned(),
            record: Some(json!({"a": "SECRET"})),
        };
        let checkpoint =
            Checkpoint { id: "SECRET".to_owned(), state: json!({}), rejected: vec![rejected] };
        let request = |request| fixture.runtime.block_on(fixture.database.checkpoint(request));
        request(CheckpointRequest::Begin(checkpoint)).unwrap();
        fixture.look("ANALYZE");
        let qualified = format!("public.{CHECKPOINT_TABLE}");
        let calls = checkpoints::invisible(CHECKPOINT_TABLE).into_iter();
        for (operation, arguments) in calls.chain(checkpoints::invisible(&qualified)) {
            let run = call(&fixture.database, operation, arguments.clone());
            let outcome = fixture.runtime.block_on(run);
            let shown = visibility::shown(&outcome);
            assert!(!shown.contains("SECRET"), "{operation} {arguments}: {shown}");
            let is_named = arguments.to_string().to_lowercase().contains(CHECKPOINT_TABLE);
            assert_eq!(outcome.is_err(), is_named, "{operation} {arguments}: {shown}");
            assert!(is_named || !shown.contains(CHECKPOINT_TABLE), "{operation}: {shown}");
        }
        let statistics = "SELECT * FROM pg_stats WHERE attname = 'checkpoint'";
        let shown = format!("{:?}", fixture.sql(statistics));
        assert!(!shown.contains("SECRET"), "{shown}");
        let read = CheckpointRequest::Read { id: "SECRET".to_owned() };
        assert_eq!(request(read).unwrap().unwrap().rejected.len(), 1);
        request(CheckpointRequest::End { id: "SECRET".to_owned() }).unwrap();
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn imports_keep_digits_and_documents() {
    let script = "CREATE TABLE v (id int PRIMARY KEY, n numeric, j json, d float8);";
    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
    let fixture = Fixture::with(script, config);
    let record = |line, text: &str| {
        let json = trunkline_sql::transfer::read_json(text.as_bytes()).unwrap();
        ImportRecord { line, data: json.as_object().unwrap().clone() }
    };
    let import = |are_texts, records| {
        let batch = ImportBatch {
            table_name: "v".to_owned(),
            records,
            on_conflict: OnConflict::Abort,
            are_texts,
            checkpoint: None,
        };
        fixture.runtime.block_on(fixture.database.import_batch(batch)).unwrap()
    };
    let imported = import(
        false,
        vec![
            record(1, r#"{"id": 1, "n": 0.1234567890123456789, "j": [0.1234567890123456789]}"#),
            record(2, r#"{"id": 2, "d": 0.1234567890123456789}"#),
        ],
    );
    assert_eq!(imported.inserted, 1);
    let rejected = &imported.rejected[0];
    assert!(rejected.reason.contains("would be rounded"), "{rejected:?}");
    assert_eq!(rejected.record, Some(json!({"id": 2, "d": "0.1234567890123456789"})));
    let texts = [
        r#"{"id": "3", "n": "0.10", "j": "{\"a\": 1e400, \"a\": 2}"}"#,
        r#"{"id": "4", "j": "plain"}"#,
    ];
    let imported = import(true, (3..).zip(texts).map(|(line, text)| record(line, text)).collect());
    assert_eq!((imported.inserted, imported.rejected.len()), (2, 0), "{imported:?}");
    let rows = fixture.look("SELECT id, n, j FROM v ORDER BY id");
    let expected = [
        "1|0.1234567890123456789|[0.1234567890123456789]",
        r#"3|0.10|{"a": 1e400, "a": 2}"#,
        r#"4||"plain""#,
    ];
    assert_eq!(rows, expected);
}
