//! Reading of `metadata`.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::ErrorObject;

use super::fault;
use super::members::members;
use crate::command::{Metadata, RequestId};
use crate::excerpt::excerpt;

/// The members that the server sets, and clients cannot.
const OURS: [&str; 3] = ["protocol", "version", "jsonrpcId"];

/// The members that change the effect of a command.
const REQUEST_ID: &str = "requestId";
const IF_VERSION: &str = "ifVersion";

/// Reads the metadata of a client, at this place, and adds it to that of the protocol.
pub(super) fn read(
    pointer: &str,
    sent: Option<&RawValue>,
    mut metadata: Metadata,
) -> Result<Metadata, ErrorObject> {
    let Some(sent) = sent else {
        return Ok(metadata);
    };
    let mut sent = members(pointer, "metadata", sent)?;
    for name in OURS {
        sent.take(name);
    }
    let invalid = |name: &str, reason: &str| fault::invalid(&fault::pointer(pointer, name), reason);
    if let Some(id) = sent.take(REQUEST_ID) {
        metadata.request_id = Some(request_id(&fault::pointer(pointer, REQUEST_ID), id)?);
    }
    if let Some(version) = sent.take(IF_VERSION) {
        let told =
            |_| invalid(IF_VERSION, "ifVersion is the version of the record, a whole number");
        metadata.if_version = Some(version.get().parse().map_err(told)?);
    }
    if let Some((slip, meant)) = sent.names().find_map(|name| Some((name, meant(name)?))) {
        return Err(invalid(
            slip,
            &format!("there is no metadata.{}: write {meant}", excerpt(slip)),
        ));
    }
    metadata.others = sent.into_map(pointer)?;
    Ok(metadata)
}

pub(crate) fn request_id(pointer: &str, id: &RawValue) -> Result<RequestId, ErrorObject> {
    RequestId::of_json(id).map_err(|reason| fault::invalid(pointer, &reason))
}

/// The `metadata` that is read as this one.
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

/// The known name that is meant by a misspelled one, which would disable a protection if it were ignored.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    [REQUEST_ID, IF_VERSION].into_iter().find(|known| plain(known) == plain(name))
}

/// A name without what people get wrong.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.collect::<String>().to_ascii_lowercase()
}
