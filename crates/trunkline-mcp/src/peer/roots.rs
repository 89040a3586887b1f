use serde_json::Value;

use super::error::PeerError;
use crate::model::Root;
use crate::protocol::method;

/// Reads the result of `roots/list`. A client without roots may send null, or nothing; entries without a URI are left
/// out.
pub(super) fn read(result: Value) -> Result<Vec<Root>, PeerError> {
    let malformed = |reason: &str| {
        let (method, reason) = (method::ROOTS, reason.to_owned());
        Err(PeerError::Malformed { method, reason })
    };
    let Value::Object(mut members) = result else { return malformed("not an object") };
    match members.remove("roots") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(roots)) => Ok(roots.into_iter().filter_map(root).collect()),
        Some(_) => malformed("`roots` is not an array"),
    }
}

fn root(entry: Value) -> Option<Root> {
    match entry {
        Value::String(uri) => Some(Root { uri, name: None }),
        Value::Object(members) => {
            let text = |name: &str| members.get(name)?.as_str().map(str::to_owned);
            Some(Root { uri: text("uri")?, name: text("name") })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    /// `expected` are the URIs and names, or `None` for a malformed result.
    #[track_caller]
    fn check(result: Value, expected: Option<&[(&str, Option<&str>)]>) {
        let found = read(result.clone()).ok();
        let found = found.as_ref().map(|roots| {
            roots.iter().map(|root| (&*root.uri, root.name.as_deref())).collect::<Vec<_>>()
        });
        assert_eq!(found.as_deref(), expected, "{result}");
    }

    #[test]
    fn reads_roots() {
        let one: &[_] = &[("file:///a", Some("A"))];
        check(json!({ "roots": [{ "uri": "file:///a", "name": "A", "x": 1 }] }), Some(one));
        let unnamed: &[_] = &[("file:///a", None)];
        check(json!({ "roots": [{ "uri": "file:///a" }], "_meta": null }), Some(unnamed));
        check(json!({ "roots": [{ "uri": "file:///a", "name": null }] }), Some(unnamed));
        check(json!({ "roots": [{ "uri": "file:///a", "name": 1 }] }), Some(unnamed));
        check(json!({ "roots": ["file:///a"] }), Some(unnamed));
        let entries = json!([null, { "name": "A" }, { "uri": null }, 1, { "uri": "file:///a" }]);
        check(json!({ "roots": entries }), Some(unnamed));
        check(json!({ "roots": [] }), Some(&[]));
        check(json!({ "roots": null }), Some(&[]));
        check(json!({}), Some(&[]));
        check(json!({ "roots": { "uri": "file:///a" } }), None);
        check(json!({ "roots": "file:///a" }), None);
        check(json!([]), None);
        check(json!(null), None);
    }
}
