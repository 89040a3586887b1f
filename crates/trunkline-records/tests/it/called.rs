//! Commands that are created by a program and cannot be expressed in a message.

use serde_json::json;
use tokio_util::sync::CancellationToken;
use trunkline_records::{Command, Context, Error, RecordId, RecordTypes, Records, RecordsConfig};

/// Executes a command on new records, and returns its result, or the place and message of the error.
async fn executed(command: Command) -> String {
    let directory = tempfile::tempdir().unwrap();
    let types = RecordTypes::default();
    let records = Records::open(directory.path(), types, RecordsConfig::default()).unwrap();
    let cancel = CancellationToken::new();
    match records.execute(command, &Context::default(), &cancel).await {
        Err(Error::Invalid { pointer, reason }) => format!("{pointer}: {reason}"),
        outcome => outcome.unwrap().to_string(),
    }
}

#[tokio::test]
async fn an_id_and_a_criterion_named_id() {
    let rows = [
        ("b", "/id: id and payload.id differ; send only one"),
        ("a", r#"{"items":[],"nextCursor":null}"#),
    ];
    for (id, expected) in rows {
        let mut command = Command::new("todo", "filter");
        command.id = RecordId::new("a");
        command.payload.insert("id".to_owned(), json!(id));
        assert_eq!(executed(command).await, expected);
    }
}
