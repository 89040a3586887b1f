//! Records as resources of MCP.

use serde::Deserialize;
use serde_json::json;
use trunkline::{Operation, code};
use trunkline_mcp::{ChangedResource, Completion, Mcp, McpOperation, Resource, ResourceTemplate};

use crate::declaration::{RecordType, Verb};
use crate::records::Records;

/// Offers the records of a type as records: each record by its id, and the list of all.
pub(super) fn resource(
    kind: &RecordType,
    verb: Verb,
    operation: Operation<Records>,
) -> Operation<Records> {
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
pub fn notify_subscribers(records: &Records, mcp: &Mcp) {
    let notifier = mcp.notifier();
    records.on_change(move |change| {
        let list = format!("records://{}", change.resource);
        let record = ChangedResource::One(format!("{list}/{}", change.id));
        notifier.resources_updated([record, ChangedResource::WithQuery(list)]);
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
