//! What is known of a command, from `metadata` as it was sent.

use serde_json::{Map, Value};
use trunkline::ErrorObject;

use super::fault;
use crate::command::Metadata;

/// What tells how a command came, which is not for its client to say.
const OURS: [&str; 3] = ["protocol", "version", "jsonrpcId"];

/// What a command does by it.
const REQUEST_ID: &str = "requestId";
const IF_VERSION: &str = "ifVersion";

/// Reads what a client has sent into what its protocol tells.
pub(super) fn read(
    mut sent: Map<String, Value>,
    mut metadata: Metadata,
) -> Result<Metadata, ErrorObject> {
    for name in OURS {
        sent.remove(name);
    }
    metadata.request_id = match sent.remove(REQUEST_ID) {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(id.to_string()),
        Some(_) => return Err(invalid(REQUEST_ID, "requestId is a string or a number")),
    };
    metadata.if_version = match sent.remove(IF_VERSION) {
        None | Some(Value::Null) => None,
        Some(version) => {
            let told =
                || invalid(IF_VERSION, "ifVersion is the version of the record, a whole number");
            Some(version.as_u64().ok_or_else(told)?)
        }
    };
    if let Some((slip, meant)) = sent.keys().find_map(|name| Some((name, meant(name)?))) {
        return Err(invalid(slip, &format!("there is no metadata.{slip}: write {meant}")));
    }
    metadata.others = sent;
    Ok(metadata)
}

/// What `metadata` has to be, for the command to become this one.
pub(super) fn written(metadata: &Metadata) -> Map<String, Value> {
    let mut sent = metadata.others.clone();
    if let Some(id) = &metadata.request_id {
        sent.insert(REQUEST_ID.to_owned(), id.as_str().into());
    }
    if let Some(version) = metadata.if_version {
        sent.insert(IF_VERSION.to_owned(), version.into());
    }
    sent
}

/// The name that a slip would be taken for: passed over, it would take a protection away.
fn meant(name: &str) -> Option<&'static str> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    let plain: String = letters.collect::<String>().to_ascii_lowercase();
    [REQUEST_ID, IF_VERSION].into_iter().find(|known| known.to_ascii_lowercase() == plain)
}

fn invalid(name: &str, reason: &str) -> ErrorObject {
    fault::invalid(&format!("/metadata/{}", name.replace('~', "~0").replace('/', "~1")), reason)
}
