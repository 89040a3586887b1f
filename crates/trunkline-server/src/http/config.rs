//! The configuration of HTTP services.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use trunkline_access::{PolicySnapshot, ProtectedResource, Tokens};

use super::authenticate::{Authenticator, Authenticators};
use super::authority::Hosts;
use super::status::StatusPolicy;

/// Configuration of an [`HttpService`](super::HttpService). `Default` is safe for a local server.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The paths of JSON-RPC. Other paths without a [route](super::Routes) return 404. Default: every path, for
    /// a service that is mounted in another router; `/` if the service has routes.
    pub paths: Vec<String>,
    /// Whether [routes](super::Routes) also handle `GET` requests to paths of JSON-RPC that accept `text/html` by
    /// name, as sent by browsers. Default: no, and such requests return 405.
    pub html_routes: bool,
    /// The paths, of JSON-RPC and of [routes](super::Routes), that are also served with a slash at their end. Requests are
    /// not redirected, since many clients do not repeat the body. Default: those of the metadata of
    /// [`protected_resource`](Self::protected_resource), to which others are added.
    pub slash_paths: Vec<String>,
    /// The maximum size of a body, in bytes. Default 1 MiB. A larger body returns 413.
    pub max_body: usize,
    /// The maximum time for a body to arrive. Default 10 s. After that, the request returns 408. `None`: no
    /// limit.
    pub body_timeout: Option<Duration>,
    /// The HTTP status of JSON-RPC errors. Default: 200, except for calls refused because of the caller.
    pub status_policy: StatusPolicy,
    /// The host names of this server, without ports. Default: `localhost`, `127.0.0.1`, `[::1]`, to which a
    /// [`Server`](crate::Server) adds its address. Requests to other hosts return 403, which prevents DNS
    /// rebinding.
    pub hosts: Hosts,
    /// The origins of web pages, as `https://name:port`, that may send requests, in addition to the origin of
    /// this server. `*` allows any origin. Default: none. Other origins return 403; requests without `Origin`
    /// are accepted. Parse an [`Origin`](super::Origin) to validate an entry.
    pub allow_origins: Vec<String>,
    /// The origins that may send requests and read the replies (CORS). `*` allows any origin. Default: none.
    pub cors_origins: Vec<String>,
    /// The headers of every response that does not set them itself. Default: none. See [`security_headers`].
    ///
    /// [`security_headers`]: super::security_headers
    pub headers: HeaderMap,
    /// Whether requests have ids. The id is the `X-Request-Id` of the client if it is sent once and has 1 to 128
    /// letters, digits and `-_.:/+=@~`, or else 32 random hexadecimal digits. Default: no.
    ///
    /// The id is a header of the response, a header of the request, which handlers access with
    /// [`Headers`](super::Headers), and the field `http.request.id` of the span of each call.
    pub request_ids: bool,
    /// The accepted tokens, listed or signed (`Authorization: Bearer …`). They are the first authenticator. Default: none.
    pub bearer: Tokens,
    /// The authenticators of requests without a token. Default: none. Without tokens and authenticators, no credentials
    /// are required.
    pub authenticators: Vec<Arc<dyn Authenticator>>,
    /// The rules for calls of the requests that these authenticate. A request whose calls run after tokens and
    /// rules were replaced is checked with both. Default: none.
    pub policy: Option<PolicySnapshot>,
    /// The service as an OAuth resource. Default: none.
    ///
    /// Its metadata is served without authentication at [its paths](ProtectedResource::metadata_paths), also to pages of
    /// any origin, and the challenges of 401 and 403 refer to it (RFC 9728). A service that is mounted in another router must receive
    /// requests to these paths, too.
    pub protected_resource: Option<ProtectedResource>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            html_routes: false,
            slash_paths: Vec::new(),
            max_body: 1 << 20,
            body_timeout: Some(Duration::from_secs(10)),
            status_policy: StatusPolicy::default(),
            hosts: Hosts::default(),
            allow_origins: Vec::new(),
            cors_origins: Vec::new(),
            headers: HeaderMap::new(),
            request_ids: false,
            bearer: Tokens::default(),
            authenticators: Vec::new(),
            policy: None,
            protected_resource: None,
        }
    }
}

impl HttpConfig {
    /// The tokens, if there are any, and the other authenticators.
    pub(super) fn all_authenticators(&self) -> Authenticators {
        let tokens = (!self.bearer.is_empty()).then(|| self.bearer.clone());
        let tokens = tokens.map(|tokens| Arc::new(tokens) as Arc<dyn Authenticator>);
        tokens.into_iter().chain(self.authenticators.iter().cloned()).collect()
    }
}
