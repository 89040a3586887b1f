//! The settings of HTTP services.

use std::time::Duration;

use http::HeaderMap;
use trunkline_access::Tokens;

use super::authority::Hosts;
use super::status::StatusPolicy;

/// Configuration of an [`HttpService`](super::HttpService). `Default` is safe for a server on this machine.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The paths of JSON-RPC. A path that neither is listed nor has a [route](super::Routes) is 404.
    /// Default: every path, for a service that is mounted in another router; `/` next to routes.
    pub paths: Vec<String>,
    /// How many bytes a body may have. Default 1 MiB. More is 413.
    pub max_body: usize,
    /// How long a body may take to arrive. Default 10 s. Then it is 408. `None`: for ever.
    pub body_timeout: Option<Duration>,
    /// The HTTP status of JSON-RPC errors. Default: 200, except of calls refused for who made them.
    pub status_policy: StatusPolicy,
    /// The names that clients may call this server, without ports. Default: `localhost`,
    /// `127.0.0.1`, `[::1]`, to which a [`Server`](crate::Server) adds its address. Others are
    /// 403: a web page that rebinds its name to this machine is stopped here.
    pub hosts: Hosts,
    /// The origins of web pages, as `https://name:port`, that may call besides those of this
    /// server itself; `*` is any. Default: none. Others are 403; requests without an Origin pass.
    /// Parse an [`Origin`](super::Origin) to be told of an entry that no browser would send.
    pub allow_origins: Vec<String>,
    /// Origins that may call and read the replies (CORS); `*` is any. Default: none.
    pub cors_origins: Vec<String>,
    /// Headers of every response that does not set them itself. Default: none. [`security_headers`] are the usual ones.
    ///
    /// [`security_headers`]: super::security_headers
    pub headers: HeaderMap,
    /// Whether each request has an id: the `X-Request-Id` of the client, if there is exactly one, of 1 to 128 letters,
    /// digits and `-_.:/+=@~`; otherwise 32 random hexadecimal digits. Default: no.
    ///
    /// The id is a header of the response; a header of the request, where handlers find it with
    /// [`Headers`](super::Headers); and the field `http.request.id` of the span of each call.
    pub request_ids: bool,
    /// The tokens, listed or signed, of which a request must carry one (`Authorization: Bearer …`). Default:
    /// none, and all requests pass.
    pub bearer: Tokens,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            max_body: 1 << 20,
            body_timeout: Some(Duration::from_secs(10)),
            status_policy: StatusPolicy::default(),
            hosts: Hosts::default(),
            allow_origins: Vec::new(),
            cors_origins: Vec::new(),
            headers: HeaderMap::new(),
            request_ids: false,
            bearer: Tokens::default(),
        }
    }
}
