//! Records as resources of MCP.

use serde::Deserialize;
use serde_json::json;
use trunkline::{Operation, code};
use trunkline_mcp::{Completion, Mcp, McpOperation, Resource, ResourceTemplate, uri_text};

use crate::declaration::{ResourceType, Verb};
use crate::resources::Resources;

/// Offers the records of a type as resources: each record by its id, and the list of all.
pub(super) fn resource(
    kind: &ResourceType,
    verb: Verb,
    operation: Operation<Resources>,
) -> Operation<Resources> {
    let name = kind.name();
    let list = format!("records://{name}");
    let record = format!("{list}/{{id}}");
    match verb {
        Verb::Read => operation
            .resource_template(ResourceTemplate::new(record, name).mime_type(JSON))
            .resource_missing_if(|error| error.code() == code::NOT_FOUND),
        Verb::List => operation
            .resource(Resource::new(&list, name).mime_type(JSON))
            .resource_template(
                ResourceTemplate::new(format!("{list}{{?limit,cursor}}"), name).mime_type(JSON),
            )
            .completes_by([Completion::template(record, "id")], |_| Some(json!({})), ids),
        _ => operation,
    }
}

const JSON: &str = "application/json";

/// Notifies the MCP clients that have subscribed to records, or to lists of them, after each change of a record.
pub fn notify_subscribers(resources: &Resources, mcp: &Mcp) {
    let notifier = mcp.notifier();
    resources.on_change(move |change| {
        let is_changed = |uri: &str| {
            let rest = uri.strip_prefix("records://")?.strip_prefix(&*change.resource)?;
            Some(match rest.strip_prefix('/') {
                Some(id) => uri_text(id)? == change.id,
                None => rest.is_empty() || rest.starts_with('?'),
            })
        };
        notifier.resources_updated(|uri| is_changed(uri).unwrap_or_default());
    });
}

/// The ids in a page of records.
fn ids(result: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Page {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        id: String,
    }
    let items = serde_json::from_slice(result).map(|Page { items }| items);
    items.into_iter().flatten().map(|item| item.id).collect()
}
