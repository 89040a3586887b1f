//! Commands that a program makes itself: what no message of a client can be.

use serde_json::json;
use tokio_util::sync::CancellationToken;
use trunkline_resources::{
    Command, Context, Error, RecordId, ResourceTypes, Resources, ResourcesConfig,
};

/// Executes a command on new resources, and returns its result, or where it is wrong.
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
async fn an_id_beside_another_criterion_of_that_name() {
    let rows = [
        ("b", "/id: id stands in the payload, too, with another value: send one of them"),
        ("a", r#"{"items":[],"nextCursor":null}"#),
    ];
    for (id, expected) in rows {
        let mut command = Command::new("todo", "filter");
        command.id = RecordId::new("a");
        command.payload.insert("id".to_owned(), json!(id));
        assert_eq!(executed(command).await, expected);
    }
}
