//! Typed members of results.

use serde_json::json;

use super::script::{Script, modern, result};
use super::suite::{call, tool};

/// The typed members of a tool, and of its result.
#[tokio::test]
async fn tools_and_results_are_typed() {
    let script = Script::start(|asked| match asked.method() {
        "tools/list" => {
            let annotations =
                json!({ "title": "T", "idempotentHint": true, "openWorldHint": false });
            let schemas = json!({ "type": "object" });
            result(
                asked,
                &json!({ "tools": [{
                    "name": "one", "inputSchema": schemas, "outputSchema": schemas,
                    "annotations": annotations,
                }]}),
            )
        }
        "tools/call" => result(
            asked,
            &json!({ "content": [
                { "type": "text", "text": "a" }, { "type": "image" }, 7, { "type": "text", "text": "b" },
            ]}),
        ),
        _ => modern(asked),
    });
    let client = script.await.client().await;
    let one = tool(&client, "one").await;
    assert_eq!((one.title.as_deref(), &*one.description), (Some("T"), "T"));
    assert_eq!((one.is_idempotent, one.is_open_world), (Some(true), Some(false)));
    assert_eq!((one.is_read_only, one.is_destructive), (None, None));
    assert!(one.output_schema.is_some());
    assert_eq!(call(&client).await.unwrap().text(), "a\nb");
}
