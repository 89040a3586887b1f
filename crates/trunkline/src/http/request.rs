//! What handlers may know of the HTTP request that a call came with.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use http::HeaderMap;

use crate::call::Call;
use crate::error::ErrorObject;
use crate::extract::FromCall;

/// Extracts the headers of the HTTP request. Through a door without headers there are none.
#[derive(Debug, Clone, Default)]
pub struct Headers(Arc<HeaderMap>);

impl Headers {
    pub(super) fn new(headers: HeaderMap) -> Self {
        Self(Arc::new(headers))
    }
}

impl Deref for Headers {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        &self.0
    }
}

impl<S> FromCall<S> for Headers {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned().unwrap_or_default())
    }
}

/// Extracts the address of the connection that a call came through, as [`Server`](crate::Server)
/// tells it: a client's, or that of a proxy before this server. In another server (an axum one)
/// insert it into the request's extensions, or there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub Option<SocketAddr>);

impl<S> FromCall<S> for Peer {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().copied().unwrap_or(Self(None)))
    }
}
