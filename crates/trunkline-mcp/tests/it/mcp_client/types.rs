//! Typed members of results.

use serde_json::{Value, json};

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
    assert_eq!((one.display_name(), one.summary()), (Some("T"), "T"));
    let hints = &one.annotations;
    assert_eq!((hints.idempotent_hint, hints.open_world_hint), (Some(true), Some(false)));
    assert_eq!((hints.read_only_hint, hints.destructive_hint), (None, None));
    assert!(one.output_schema.is_some());
    assert_eq!(call(&client).await.unwrap().text(), "a\nb");
}

/// The names of the items of a list, and those of rejected ones, in the answer of a server to any list.
async fn listed(kind: &str, answer: Value) -> Result<(Vec<String>, Vec<String>), String> {
    let script = Script::start(move |asked| match asked.method() {
        method if method.ends_with("/list") => result(asked, &answer),
        _ => modern(asked),
    });
    let client = script.await.client().await;
    macro_rules! names {
        ($list:ident, $name:ident) => {{
            let list = client.$list().await.map_err(|error| error.to_string())?;
            let rejected = list.rejected.into_iter().map(|(name, _)| name).collect();
            Ok((list.items.into_iter().map(|item| item.into_value().$name).collect(), rejected))
        }};
    }
    match kind {
        "tools" => names!(list_tools, name),
        "prompts" => names!(list_prompts, name),
        "resources" => names!(list_resources, uri),
        _ => names!(list_resource_templates, uri_template),
    }
}

/// Deviations of servers. Harmless ones are accepted; items without a name or a schema are rejected, and the others kept.
#[tokio::test]
async fn accepts_harmless_deviations_in_lists() {
    let schema = json!({ "type": "object" });
    let tool = |name: &str| json!({ "name": name, "inputSchema": schema });
    let rows: Vec<(&str, Value, Vec<&str>, Vec<&str>)> = vec![
        ("tools", json!({ "tools": [tool("a")], "nextCursor": null }), vec!["a"], vec![]),
        ("tools", json!({ "tools": [tool("a")], "nextCursor": "" }), vec!["a"], vec![]),
        // Each page has the same cursor.
        (
            "tools",
            json!({ "tools": [tool("a"), tool("b")], "nextCursor": "x" }),
            vec!["a", "b"],
            vec![],
        ),
        ("prompts", json!({ "prompts": [{ "name": "a" }], "nextCursor": "x" }), vec!["a"], vec![]),
        (
            "tools",
            json!({ "tools": [{
                "name": "a", "inputSchema": schema, "title": null, "description": null, "outputSchema": null,
                "annotations": null, "icons": null, "_meta": null, "execution": { "unknown": 1 },
            }] }),
            vec!["a"],
            vec![],
        ),
        (
            "tools",
            json!({ "tools": [{
                "name": "a", "inputSchema": schema, "annotations": [],
                "icons": [{ "src": 1 }, { "src": "data:," }], "_meta": "a",
            }] }),
            vec!["a"],
            vec![],
        ),
        (
            "tools",
            json!({ "tools": [
                { "name": "a", "inputSchema": schema, "annotations": { "readOnlyHint": "yes", "title": "T" } }, tool("b"),
            ] }),
            vec!["a", "b"],
            vec![],
        ),
        (
            "tools",
            json!({ "tools": [{ "name": "a" }, tool("b"), { "inputSchema": schema }, 7] }),
            vec!["b"],
            vec!["a", "", ""],
        ),
        ("tools", json!({ "tools": [{ "name": null, "inputSchema": schema }] }), vec![], vec![""]),
        (
            "resources",
            json!({ "resources": [
                { "uri": "a:1", "name": "n", "size": 7.0, "mimeType": null, "annotations": { "priority": "high" } },
                { "uri": "a:2", "name": "n", "size": "big", "annotations": { "audience": ["user", "everyone"] } },
                { "uri": "a:3", "name": "n", "size": -1, "annotations": null, "lastModified": 5 },
                { "uri": "a:4" },
                { "name": "n" },
            ] }),
            vec!["a:1", "a:2", "a:3", "a:4"],
            vec![""],
        ),
        (
            "templates",
            json!({ "resourceTemplates": [{ "uriTemplate": "a:{b}" }, { "uriTemplate": "a:{c}", "name": null }] }),
            vec!["a:{b}", "a:{c}"],
            vec![],
        ),
        (
            "prompts",
            json!({ "prompts": [
                { "name": "a", "arguments": null, "title": null },
                { "name": "b", "arguments": [{ "name": "x", "required": null, "description": null }] },
                { "name": "c", "arguments": [{ "required": true }] },
            ] }),
            vec!["a", "b"],
            vec!["c"],
        ),
    ];
    for (kind, answer, names, rejected) in rows {
        let found = listed(kind, answer.clone()).await.unwrap();
        assert_eq!(found, (strings(&names), strings(&rejected)), "{answer}");
    }
    for answer in [
        json!({ "tools": null }),
        json!({}),
        json!({ "tools": {} }),
        json!({ "tools": [], "nextCursor": 1 }),
    ] {
        assert!(listed("tools", answer.clone()).await.is_err(), "{answer}");
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The text and the error flag of a result.
async fn called(answer: Value) -> Result<(String, bool), String> {
    let script = Script::start(move |asked| match asked.method() {
        "tools/list" => result(
            asked,
            &json!({ "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] }),
        ),
        "tools/call" => result(asked, &answer),
        _ => modern(asked),
    });
    let client = script.await.client().await;
    let result = call(&client).await.map_err(|error| error.to_string())?;
    Ok((result.text(), result.is_error))
}

#[tokio::test]
async fn accepts_harmless_deviations_in_results() {
    for (answer, text, is_error) in [
        (json!({ "content": null }), "", false),
        (json!({}), "", false),
        (
            json!({ "content": [{ "type": "text", "text": "a" }], "isError": null, "structuredContent": null }),
            "a",
            false,
        ),
        (json!({ "content": { "type": "text", "text": "a" } }), "a", false),
        (json!({ "content": "a", "isError": true }), "a", true),
        (json!({ "content": ["a", null, { "type": "future" }, { "type": "text" }] }), "a", false),
        (
            json!({ "content": [{ "type": "text", "text": "a", "annotations": { "priority": [] }, "_meta": null, "x": 1 }] }),
            "a",
            false,
        ),
        (
            json!({ "content": [{ "type": "resource", "resource": { "uri": null, "text": "b" } }] }),
            "",
            false,
        ),
    ] {
        assert_eq!(called(answer.clone()).await, Ok((text.to_owned(), is_error)), "{answer}");
    }
    // Whether a tool has failed has a meaning.
    assert!(called(json!({ "content": [], "isError": "false" })).await.is_err());
}
