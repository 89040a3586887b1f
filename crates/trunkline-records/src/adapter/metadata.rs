//! Parsing of `metadata`.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::ErrorObject;

use super::fault;
use super::members::members;
use crate::command::{Metadata, RequestId};
use crate::excerpt::excerpt;

/// The members that only the server sets.
const SERVER_MEMBERS: [&str; 3] = ["protocol", "version", "jsonrpcId"];

/// The members that change the effect of a command.
const REQUEST_ID: &str = "requestId";
const IF_VERSION: &str = "ifVersion";

/// Reads the client's metadata at `pointer`, and adds it to the metadata of the protocol.
pub(super) fn read(
    pointer: &str,
    sent: Option<&RawValue>,
    mut metadata: Metadata,
) -> Result<Metadata, ErrorObject> {
    let Some(sent) = sent else {
        return Ok(metadata);
    };
    let mut sent = members(pointer, "metadata", sent)?;
    for name in SERVER_MEMBERS {
        sent.take(name);
    }
    let invalid = |name: &str, reason: &str| fault::invalid(&fault::pointer(pointer, name), reason);
    if let Some(id) = sent.take(REQUEST_ID) {
        metadata.request_id = Some(request_id(&fault::pointer(pointer, REQUEST_ID), id)?);
    }
    if let Some(version) = sent.take(IF_VERSION) {
        let error =
            |_| invalid(IF_VERSION, "ifVersion must be the version of the record, an integer");
        metadata.if_version = Some(version.get().parse().map_err(error)?);
    }
    if let Some((name, known)) = sent.names().find_map(|name| Some((name, similar_name(name)?))) {
        return Err(invalid(
            name,
            &format!("unknown member metadata.{}; did you mean {known}?", excerpt(name)),
        ));
    }
    metadata.others = sent.into_map(pointer)?;
    Ok(metadata)
}

pub(crate) fn request_id(pointer: &str, id: &RawValue) -> Result<RequestId, ErrorObject> {
    RequestId::of_json(id).map_err(|reason| fault::invalid(pointer, &reason))
}

/// The `metadata` member of a message with this metadata.
pub(super) fn to_map(metadata: &Metadata) -> Map<String, Value> {
    let mut sent = metadata.others.clone();
    if let Some(id) = &metadata.request_id {
        sent.insert(REQUEST_ID.to_owned(), id.as_str().into());
    }
    if let Some(version) = metadata.if_version {
        sent.insert(IF_VERSION.to_owned(), version.into());
    }
    sent
}

/// The known member that a misspelled name resembles. Ignoring the misspelled member could disable a protection.
pub(super) fn similar_name(name: &str) -> Option<&'static str> {
    [REQUEST_ID, IF_VERSION].into_iter().find(|known| normalized(known) == normalized(name))
}

/// A name without case, `_` and `-`.
pub(super) fn normalized(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.collect::<String>().to_ascii_lowercase()
}
