use serde_json::{Value, json};

use super::down_level::down_level;
use super::{
    Annotations, Block, Contents, Icon, Prompt, PromptArgument, PromptMessage, PromptResult,
    Resource, ResourceContents, ResourceTemplate, Role, Theme,
};
use crate::protocol::Legacy;

/// Checks the JSON of a value, and that it can be read.
#[track_caller]
fn check<T>(value: T, expected: Value)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(serde_json::to_value(&value).unwrap(), expected);
    assert_eq!(serde_json::from_value::<T>(expected).unwrap(), value);
}

#[test]
fn values_have_the_members_of_the_schema() {
    let annotations = Annotations::new()
        .audience([Role::User, Role::Assistant])
        .priority(7.0)
        .last_modified("2025-01-12T15:00:58Z");
    let annotated = json!({
        "audience": ["user", "assistant"], "priority": 1.0, "lastModified": "2025-01-12T15:00:58Z",
    });
    check(Block::text("a"), json!({ "type": "text", "text": "a" }));
    check(
        Block::image(b"a", "image/png").annotations(annotations.clone()).meta("x.y/z", 1),
        json!({
            "type": "image", "data": "YQ==", "mimeType": "image/png", "annotations": annotated, "_meta": { "x.y/z": 1 },
        }),
    );
    check(
        Block::audio(b"a", "audio/wav"),
        json!({ "type": "audio", "data": "YQ==", "mimeType": "audio/wav" }),
    );
    check(
        Block::resource("a:b", "text/plain", "c"),
        json!({ "type": "resource", "resource": { "uri": "a:b", "mimeType": "text/plain", "text": "c" } }),
    );
    check(
        Block::from(ResourceContents::binary(b"a").uri("a:b").meta("m", true)),
        json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "YQ==", "_meta": { "m": true } } }),
    );
    let icon = Icon::new("data:,").mime_type("image/png").sizes(["48x48"]).theme(Theme::Dark);
    let icons =
        json!([{ "src": "data:,", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark" }]);
    let resource = Resource::new("a:b", "n").size(7).annotations(annotations).icon(icon.clone());
    check(
        Block::link(resource.meta("m", 1)),
        json!({
            "type": "resource_link", "uri": "a:b", "name": "n", "size": 7, "icons": icons,
            "annotations": annotated, "_meta": { "m": 1 },
        }),
    );
    check(
        ResourceTemplate::new("a:{b}", "n").title("t").description("d").mime_type("m"),
        json!({ "uriTemplate": "a:{b}", "name": "n", "title": "t", "description": "d", "mimeType": "m" }),
    );
    check(
        Contents::from_iter([
            ResourceContents::text("a").mime_type("m"),
            ResourceContents::binary(b"a"),
        ]),
        json!({ "contents": [{ "mimeType": "m", "text": "a" }, { "blob": "YQ==" }] }),
    );
    check(
        Prompt::new("p").icon(icon).argument(PromptArgument::new("a").title("t").required()),
        json!({
            "name": "p", "icons": icons, "arguments": [{ "name": "a", "title": "t", "required": true }],
        }),
    );
    check(
        PromptResult::new([PromptMessage::user("a"), PromptMessage::assistant(Block::text("b"))]),
        json!({ "messages": [
            { "role": "user", "content": { "type": "text", "text": "a" } },
            { "role": "assistant", "content": { "type": "text", "text": "b" } },
        ] }),
    );
}

#[track_caller]
fn check_down_level(revision: Legacy, content: &Value, expected: &Value) {
    let content = content.to_string();
    let found = down_level(content.as_bytes(), revision);
    assert_eq!(serde_json::from_slice::<Value>(&found).unwrap(), *expected, "{revision}");
}

#[test]
fn clients_of_earlier_revisions_receive_text() {
    let link = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
    let audio = json!({ "type": "audio", "data": "YQ==", "mimeType": "audio/wav" });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let (as_link, as_audio) =
        (text("n: a:b"), text("audio (audio/wav), which this client does not support"));
    let all = json!([link, audio, text("a")]);
    check_down_level(Legacy::V2025_11_25, &all, &all);
    check_down_level(Legacy::V2025_06_18, &all, &all);
    check_down_level(Legacy::V2025_03_26, &all, &json!([as_link, audio, text("a")]));
    check_down_level(Legacy::V2024_11_05, &all, &json!([as_link, as_audio, text("a")]));
    check_down_level(Legacy::V2024_11_05, &audio, &as_audio);
    check_down_level(
        Legacy::V2024_11_05,
        &json!([{ "role": "user", "content": link }]),
        &json!([{ "role": "user", "content": as_link }]),
    );
    check_down_level(Legacy::V2024_11_05, &json!("a"), &json!("a"));
}
