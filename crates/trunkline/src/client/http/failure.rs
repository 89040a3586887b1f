//! What hyper says, in our words.

use std::sync::Arc;

use trunkline_core::error::BoxError;

use crate::client::error::TransportError;

/// Why there is no connection.
pub(super) fn of_connect(target: &str, source: BoxError) -> TransportError {
    TransportError::Connect { target: target.to_owned(), source: Arc::from(source) }
}

/// Why there is no head of a reply.
pub(super) fn of_request(target: &str, source: hyper::Error) -> TransportError {
    let target = target.to_owned();
    if source.is_parse() {
        return TransportError::NotHttp { target, source: Arc::new(source) };
    }
    TransportError::Broken { target, source: Some(Arc::new(source)) }
}

/// Why there is no further part of a body.
pub(super) fn of_body(target: &str, source: hyper::Error) -> TransportError {
    TransportError::Broken { target: target.to_owned(), source: Some(Arc::new(source)) }
}
