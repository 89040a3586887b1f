//! Exports and imports under rules and limits. `trunkline-cli` tests them as a user does.

use std::time::Duration;

use serde_json::json;
use trunkline_sql::change::OnConflict;
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::transfer::{
    ExportFormat, ExportRows, ExportSender, Exported, ImportBatch, ImportRecord,
};
use trunkline_sql::{Error, QueryLimits};

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
fn limits_apply() {
    let limits = QueryLimits {
        max_export_rows: 10,
        export_timeout: Duration::from_millis(200),
        ..QueryLimits::default()
    };
    let fixture = Fixture::with(SqliteConfig { limits, ..SqliteConfig::default() });
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
        let (_, outcome) = export(&fixture, ExportRows::query(&sql, None, ExportFormat::Csv));
        assert_eq!(kind(&outcome), expected, "{sql}");
    }
}
