//! What handlers may know of the HTTP request that a call came with.

use std::any::{Any, TypeId, type_name};
use std::net::SocketAddr;
use std::ops::Deref;

use http::HeaderMap;
use http::request::Parts;
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::{Extensions, Origin};
use trunkline_core::extract::FromCall;
use trunkline_core::trace_context::TraceContext;

use trunkline_access::Principal;

/// The head of a request, shared by the calls of its body.
pub(crate) struct Head {
    headers: HeaderMap,
    peer: Option<SocketAddr>,
    door: &'static str,
    protocol: &'static str,
    extensions: http::Extensions,
    /// Of the header `traceparent`. Of two headers, neither is valid (section 3.2 of the Trace Context).
    trace: Option<TraceContext>,
}

impl Head {
    pub(crate) fn new(
        parts: Parts,
        peer: Option<SocketAddr>,
        door: &'static str,
        protocol: &'static str,
    ) -> Self {
        let Parts { mut headers, extensions, .. } = parts;
        let (mut trace, mut traces) = (None, 0);
        for (name, value) in &mut headers {
            match name.as_str() {
                // `Debug` does not show it, wherever handlers pass it.
                "authorization" | "proxy-authorization" | "cookie" => value.set_sensitive(true),
                "traceparent" => {
                    traces += 1;
                    trace = value.to_str().ok().and_then(|value| value.parse().ok());
                }
                _ => {}
            }
        }
        let trace = trace.filter(|_| traces == 1);
        Self { headers, peer, door, protocol, extensions, trace }
    }
}

impl Origin for Head {
    fn endpoint(&self) -> &'static str {
        self.door
    }

    fn protocol(&self) -> &'static str {
        self.protocol
    }

    fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    fn get(&self, key: TypeId) -> Option<&dyn Any> {
        fn any<T: Any>(value: Option<&T>) -> Option<&dyn Any> {
            value.map(|value| value as _)
        }
        if key == TypeId::of::<http::Extensions>() {
            Some(&self.extensions)
        } else if key == TypeId::of::<Principal>() {
            any(self.extensions.get::<Principal>())
        } else if key == TypeId::of::<Peer>() {
            any(self.extensions.get::<Peer>())
        } else {
            None
        }
    }
}

/// Extracts the headers of the HTTP request. Through a door without headers there are none. `Debug`
/// does not show those that carry credentials: `Authorization`, `Proxy-Authorization`, `Cookie`.
#[derive(Debug, Clone, Default)]
pub struct Headers(pub HeaderMap);

impl Headers {
    /// The headers that a call came with, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&HeaderMap> {
        extensions.origin::<Head>().map(|head| &head.headers)
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
        Ok(Self(Self::of(call.extensions()).cloned().unwrap_or_default()))
    }
}

/// Extracts the address of the connection that a call came through, as [`Server`](crate::Server)
/// tells it: a client's, or that of a proxy before this server. In another server (an axum one)
/// insert it into the request's extensions, or there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub Option<SocketAddr>);

impl Peer {
    /// The address that a call came from, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let direct = extensions.origin::<Head>().and_then(|head| head.peer);
        Self(direct.or_else(|| extensions.get::<Self>()?.0))
    }
}

impl<S> FromCall<S> for Peer {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}

/// Extracts a clone of the extension of type `T` that a transport, middleware of HTTP or a layer has set.
///
/// A call without one ends with -32603: the server was put together without the layer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> Extension<T> {
    /// The value, for layers: the one that was added to the call, or else the one in the extensions of the
    /// HTTP request, if the call came with one.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&T> {
        extensions.get().or_else(|| extensions.get::<http::Extensions>()?.get())
    }
}

impl<S, T: Clone + Send + Sync + 'static> FromCall<S> for Extension<T> {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        match Self::of(call.extensions()) {
            Some(value) => Ok(Self(value.clone())),
            None => {
                let missing = format_args!("no extension of type {} is set", type_name::<T>());
                Err(ErrorObject::internal(&missing))
            }
        }
    }
}
