//! Extractors for the HTTP request of a call.

use std::any::{Any, TypeId, type_name};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::Deref;

use http::HeaderMap;
use http::request::Parts;
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::{Extensions, Origin};
use trunkline_core::extract::FromCall;
use trunkline_core::trace_context::{TraceContext, TraceState};

use trunkline_access::{PolicySnapshot, Principal};

/// The head of a request, shared by the calls of its body.
pub(crate) struct Head {
    parts: Parts,
    peer: Option<SocketAddr>,
    endpoint: &'static str,
    protocol: &'static str,
    policy: Option<PolicySnapshot>,
    /// The header `traceparent`. It is ignored if it is repeated (Trace Context, section 3.2).
    trace: Option<TraceContext>,
    /// The header `tracestate`, if there is a trace. Repeated headers are one list.
    trace_state: Option<TraceState>,
}

impl Head {
    pub(crate) fn new(
        mut parts: Parts,
        peer: Option<SocketAddr>,
        endpoint: &'static str,
        protocol: &'static str,
        policy: Option<PolicySnapshot>,
    ) -> Self {
        let (mut trace, mut traces) = (None, 0);
        for (name, value) in &mut parts.headers {
            match name.as_str() {
                // `Debug` omits sensitive values.
                "authorization" | "proxy-authorization" | "cookie" => value.set_sensitive(true),
                "traceparent" => {
                    traces += 1;
                    trace = value.to_str().ok().and_then(|value| value.parse().ok());
                }
                _ => {}
            }
        }
        let trace = trace.filter(|_| traces == 1);
        let trace_state = trace.and_then(|_| trace_state(&parts.headers));
        Self { parts, peer, endpoint, protocol, policy, trace, trace_state }
    }

    /// The head of the request of a call.
    pub(crate) fn parts(extensions: &Extensions) -> Option<&Parts> {
        extensions.origin::<Self>().map(|head| &head.parts)
    }
}

fn trace_state(headers: &HeaderMap) -> Option<TraceState> {
    let values = headers.get_all("tracestate").iter().map(|value| value.to_str().ok());
    let values = values.collect::<Option<Vec<_>>>()?;
    TraceState::parse(&values.join(","))
}

impl Origin for Head {
    fn endpoint(&self) -> &'static str {
        self.endpoint
    }

    fn protocol(&self) -> &'static str {
        self.protocol
    }

    fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    fn trace_state(&self) -> Option<&TraceState> {
        self.trace_state.as_ref()
    }

    fn get(&self, key: TypeId) -> Option<&dyn Any> {
        fn any<T: Any>(value: Option<&T>) -> Option<&dyn Any> {
            value.map(|value| value as _)
        }
        if key == TypeId::of::<http::Extensions>() {
            Some(&self.parts.extensions)
        } else if key == TypeId::of::<Principal>() {
            any(self.parts.extensions.get::<Principal>())
        } else if key == TypeId::of::<Peer>() {
            any(self.parts.extensions.get::<Peer>())
        } else if key == TypeId::of::<PolicySnapshot>() {
            any(self.policy.as_ref())
        } else {
            None
        }
    }
}

/// Extracts the headers of the HTTP request. Empty for transports without headers. `Debug` omits the values of
/// headers with credentials: `Authorization`, `Proxy-Authorization`, `Cookie`.
#[derive(Debug, Clone, Default)]
pub struct Headers(pub HeaderMap);

impl Headers {
    /// The headers of the request of a call, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&HeaderMap> {
        Head::parts(extensions).map(|parts| &parts.headers)
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

/// Extracts the peer address of the connection, set by [`Server`](crate::Server): that of the client, or of a
/// proxy in front of the server. In other servers, such as `axum::serve`, insert it into the extensions of the
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub Option<SocketAddr>);

impl Peer {
    /// The peer address of a call, for layers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let direct = extensions.origin::<Head>().and_then(|head| head.peer);
        Self(direct.or_else(|| extensions.get::<Self>()?.0))
    }

    /// The address, for limits of each client: all of an IPv4 address, the first 64 bits of an IPv6 address, which one
    /// client has alone.
    #[must_use]
    pub fn network(self) -> Option<IpAddr> {
        Some(match self.0?.ip().to_canonical() {
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into()
            }
            address => address,
        })
    }
}

impl<S> FromCall<S> for Peer {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}

/// Extracts a clone of the extension of type `T` set by a transport, HTTP middleware or a layer.
///
/// A call without the extension ends with -32603.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> Extension<T> {
    /// The value, for layers: the extension of the call, or else the extension of the HTTP request.
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
                let missing = format_args!("missing extension of type {}", type_name::<T>());
                Err(ErrorObject::internal(&missing))
            }
        }
    }
}
