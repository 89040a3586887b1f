//! Commands that are created by a program and cannot be expressed in a message.

use serde_json::json;
use tokio_util::sync::CancellationToken;
use trunkline_resources::{
    Command, Context, Error, RecordId, ResourceTypes, Resources, ResourcesConfig,
};

/// Executes a command on new resources, and returns its result, or the place and message of the error.
async fn executed(command: Command) -> String {
    let directory = tempfile::tempdir().unwrap();
    let types = ResourceTypes::default();
    let resources = Resources::open(directory.path(), types, ResourcesConfig::default()).unwrap();
    let cancel = CancellationToken::new();
    match resources.execute(command, &Context::default(), &cancel).await {
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
