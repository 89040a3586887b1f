//! Exports and imports under rules and limits. `trunkline-cli` tests them as a user does.

use std::time::Duration;

use serde_json::json;
use trunkline_sql::change::OnConflict;
use trunkline_sql::sqlite::{SqliteConfig, backup};
use trunkline_sql::transfer::{
    CHECKPOINT_TABLE, Checkpoint, CheckpointRequest, ExportFormat, ExportRows, ExportSender,
    Exported, ImportBatch, ImportRecord, RejectedRecord,
};
use trunkline_sql::{Error, QueryLimits, VisibilityRules};

use crate::checkpoints;
use crate::fixture::{Fixture, kind};
use crate::visibility;

/// The text and the outcome of an export.
fn export(fixture: &Fixture, request: ExportRows) -> (String, Result<Exported, Error>) {
    let (sender, mut parts) = ExportSender::channel();
    let run = fixture.database.export_rows(request, sender);
    let (outcome, text) = fixture.runtime.block_on(async {
        tokio::join!(run, async {
            let mut text = Vec::new();
            while let Some(part) = parts.recv().await {
                text.extend_from_slice(&part);
            }
            String::from_utf8(text).unwrap()
        })
    });
    (text, outcome)
}

#[test]
fn rules_apply() {
    let fixture = visibility::fixture(true);
    let (text, outcome) = export(&fixture, ExportRows::table("customer", ExportFormat::Csv));
    assert_eq!(outcome.unwrap().rows, 2);
    let expected = "id,name,email,phone,shout\n\
                    1,Ada,2qF_HdWLl2P_E410kZRDvg,****1815,\n2,Ben,ys2l00sXJ5V1ebTOOJ2ZWw,,\n";
    assert_eq!(text, expected);
    for (request, expected) in [
        (ExportRows::table("salary", ExportFormat::Json), "unknown_table"),
        (ExportRows::table("pay", ExportFormat::Json), "unknown_table"),
        (ExportRows::query("SELECT * FROM salary", None, ExportFormat::Json), "sql"),
        (ExportRows::query("SELECT id FROM pay", None, ExportFormat::Json), "sql"),
        (ExportRows::query("SELECT email FROM customer", None, ExportFormat::Json), "masked"),
    ] {
        let (text, outcome) = export(&fixture, request);
        assert_eq!((text.as_str(), kind(&outcome)), ("", expected));
    }
    let data = json!({"id": 9}).as_object().unwrap().clone();
    let batch = ImportBatch {
        table_name: "salary".to_owned(),
        records: vec![ImportRecord { line: 1, data }],
        on_conflict: OnConflict::Abort,
        are_texts: false,
        checkpoint: None,
    };
    let imported = fixture.runtime.block_on(fixture.database.import_batch(batch));
    assert_eq!(kind(&imported), "unknown_table");
}

#[test]
fn callers_do_not_see_checkpoints() {
    for rules in [VisibilityRules::default(), visibility::rules().allow_unmatched()] {
        let config = SqliteConfig { writable: true, rules, ..SqliteConfig::default() };
        let fixture = Fixture::with(config);
        let checkpoint = Checkpoint {
            id: "SECRET".to_owned(),
            state: json!({}),
            rejected: vec![RejectedRecord {
                line: 1,
                column: None,
                reason: "SECRET".to_owned(),
                record: Some(json!({"a": "SECRET"})),
            }],
        };
        let call = |request| fixture.runtime.block_on(fixture.database.checkpoint(request));
        call(CheckpointRequest::Begin(checkpoint)).unwrap();
        for (operation, arguments) in checkpoints::invisible(CHECKPOINT_TABLE) {
            let outcome = fixture.call(operation, arguments.clone());
            let shown = visibility::shown(&outcome);
            assert!(!shown.contains("SECRET"), "{operation} {arguments}: {shown}");
            let is_named = arguments.to_string().to_lowercase().contains(CHECKPOINT_TABLE);
            assert_eq!(outcome.is_err(), is_named, "{operation} {arguments}: {shown}");
            assert!(is_named || !shown.contains(CHECKPOINT_TABLE), "{operation}: {shown}");
        }
        let export = |source| export(&fixture, source).1;
        let query = format!("SELECT * FROM {CHECKPOINT_TABLE}");
        let exports = [
            export(ExportRows::table(CHECKPOINT_TABLE, ExportFormat::Csv)),
            export(ExportRows::query(&query, None, ExportFormat::Csv)),
        ];
        assert!(exports.iter().all(|outcome| kind(outcome) == "unknown_table"), "{exports:?}");
        let read = CheckpointRequest::Read { id: "SECRET".to_owned() };
        assert_eq!(call(read).unwrap().unwrap().rejected.len(), 1);
        call(CheckpointRequest::End { id: "SECRET".to_owned() }).unwrap();
    }
}

#[test]
fn limits_apply() {
    let fixture = |export_timeout: Duration| {
        let limits = QueryLimits { max_export_rows: 10, export_timeout, ..QueryLimits::default() };
        Fixture::with(SqliteConfig { limits, ..SqliteConfig::default() })
    };
    let (patient, impatient) =
        (fixture(Duration::from_secs(60)), fixture(Duration::from_millis(200)));
    let numbers = |last: u64| {
        format!(
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT {last}) SELECT"
        )
    };
    for (sql, expected) in [
        (format!("{} i FROM n", numbers(10)), "ok"),
        (format!("{} i FROM n", numbers(11)), "over_limit"),
        (format!("{} count(*) FROM n", numbers(1_000_000_000)), "timeout"),
    ] {
        let fixture = if expected == "timeout" { &impatient } else { &patient };
        let (_, outcome) = export(fixture, ExportRows::query(&sql, None, ExportFormat::Csv));
        assert_eq!(kind(&outcome), expected, "{sql}");
    }
}

/// A backup during another one to the same file.
#[test]
fn backups_do_not_share_a_draft() {
    for mode in ["wal", "delete"] {
        let folder = tempfile::tempdir().unwrap();
        let (database, file) = (folder.path().join("a.db"), folder.path().join("copy.db"));
        let content = format!(
            "PRAGMA journal_mode = {mode}; CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(9000000))"
        );
        rusqlite::Connection::open(&database).unwrap().execute_batch(&content).unwrap();
        let mut inner = None;
        let outer = backup(&database, &file, |done, all| {
            if inner.is_none() {
                assert!(done < all);
                inner = Some(backup(&database, &file, |_, _| {}).unwrap());
            }
        });
        assert_eq!(outer.unwrap().bytes, inner.unwrap().bytes, "{mode}");
        let names = std::fs::read_dir(folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("copy")).collect();
        names.sort();
        assert_eq!(names, ["copy.db"], "{mode}");
    }
}
