//! Media types as HTTP has them.

use trunkline_core::format::Format;

use trunkline_client::media_type::{MediaType, named};

/// The format that a `Content-Type` names, if it is one, in UTF-8.
pub(super) fn format(value: &str) -> Option<Format> {
    let media_type = MediaType::parse(value)?;
    let format = named(media_type.name)?;
    media_type.is_in(&["utf-8"]).then_some(format)
}
