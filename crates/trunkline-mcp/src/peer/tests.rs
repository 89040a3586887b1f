use serde_json::{Value, json};

use super::read;
use crate::model::{CreateMessageResult, ListRootsResult};
use crate::protocol::method;

/// `expected` are the URIs and names, or `None` for a malformed result.
#[track_caller]
fn check_roots(result: Value, expected: Option<&[(&str, Option<&str>)]>) {
    let found: Option<ListRootsResult> = read(method::ROOTS, result.clone()).ok();
    let found = found.as_ref().map(|found| {
        found.roots.iter().map(|root| (&*root.uri, root.name.as_deref())).collect::<Vec<_>>()
    });
    assert_eq!(found.as_deref(), expected, "{result}");
}

#[test]
fn reads_roots() {
    let one: &[_] = &[("file:///a", Some("A"))];
    check_roots(json!({ "roots": [{ "uri": "file:///a", "name": "A", "x": 1 }] }), Some(one));
    let unnamed: &[_] = &[("file:///a", None)];
    check_roots(json!({ "roots": [{ "uri": "file:///a" }], "_meta": null }), Some(unnamed));
    check_roots(json!({ "roots": [{ "uri": "file:///a", "name": null }] }), Some(unnamed));
    check_roots(json!({ "roots": [{ "uri": "file:///a", "name": 1 }] }), Some(unnamed));
    check_roots(json!({ "roots": ["file:///a"] }), Some(unnamed));
    let entries = json!([null, { "name": "A" }, { "uri": null }, 1, { "uri": "file:///a" }]);
    check_roots(json!({ "roots": entries }), Some(unnamed));
    check_roots(json!({ "roots": [] }), Some(&[]));
    check_roots(json!({ "roots": null }), Some(&[]));
    check_roots(json!({}), Some(&[]));
    check_roots(json!({ "roots": { "uri": "file:///a" } }), None);
    check_roots(json!({ "roots": "file:///a" }), None);
    check_roots(json!([]), None);
    check_roots(json!(null), None);
}

/// `expected` are the text, the role, the model and the reason, or `None` for a malformed result.
#[track_caller]
fn check_sampled(result: Value, expected: Option<(&str, &str, &str, Option<&str>)>) {
    let found = read::<CreateMessageResult>(method::SAMPLE, result.clone()).ok();
    let text = found.as_ref().map(CreateMessageResult::text).unwrap_or_default();
    let found = found
        .as_ref()
        .map(|found| (&*text, &*found.role, &*found.model, found.stop_reason.as_deref()));
    assert_eq!(found, expected, "{result}");
}

#[test]
fn reads_results() {
    let block = json!({ "type": "text", "text": "a" });
    let whole = json!({
        "role": "user", "content": block, "model": "m", "stopReason": "endTurn", "x": 1,
    });
    check_sampled(whole, Some(("a", "user", "m", Some("endTurn"))));
    let defaults = |text| Some((text, "assistant", "", None));
    check_sampled(json!({ "content": block }), defaults("a"));
    let nulls = json!({ "role": null, "content": block, "model": null, "stopReason": null });
    check_sampled(nulls, defaults("a"));
    check_sampled(json!({ "content": [block, block] }), defaults("aa"));
    check_sampled(json!({ "content": ["a", { "type": "image" }, null] }), defaults("a"));
    check_sampled(json!({ "content": "a" }), defaults("a"));
    check_sampled(json!({ "content": [] }), defaults(""));
    check_sampled(json!({ "content": null, "model": 1 }), defaults(""));
    check_sampled(json!({ "content": { "type": "text", "text": null } }), defaults(""));
    for malformed in
        [json!({}), json!({ "model": "m" }), json!({ "content": 1 }), json!(null), json!([])]
    {
        check_sampled(malformed, None);
    }
}
