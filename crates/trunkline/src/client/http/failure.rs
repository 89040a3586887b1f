//! What hyper says, in our words.

use std::error::Error;
use std::sync::Arc;

use hyper_util::client::legacy;

use crate::client::error::TransportError;

/// Why there is no head of a reply.
pub(super) fn of_request(target: &str, source: legacy::Error) -> TransportError {
    let target = target.to_owned();
    if source.is_connect() {
        return TransportError::Connect { target, source: Arc::new(source) };
    }
    let cause = source.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    if cause.is_some_and(hyper::Error::is_parse) {
        return TransportError::NotHttp { target, source: Arc::new(source) };
    }
    TransportError::Broken { target, source: Some(Arc::new(source)) }
}

/// Why there is no further part of a body.
pub(super) fn of_body(target: &str, source: hyper::Error) -> TransportError {
    TransportError::Broken { target: target.to_owned(), source: Some(Arc::new(source)) }
}
