//! Requests to authorization servers, and for metadata.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use trunkline::client::http::{HttpClientConfig, Networks, Reply, Roots, Url};
use trunkline::client::{Http, TransportError};

use super::error::OAuthError;
use super::form::Form;
use super::metadata::is_same_origin;

/// Sends requests with limits, to URLs that come from servers and are not trusted.
///
/// They must be `https`, except for this machine and for the origin of the MCP server. They must not lead into networks
/// that are closer to the client than the MCP server is.
#[derive(Debug)]
pub(super) struct Fetcher {
    server: Url,
    config: FetchConfig,
    /// The networks of the MCP server, determined before the first request.
    networks: OnceCell<Networks>,
}

/// The limits of requests, and exceptions.
#[derive(Debug)]
pub(super) struct FetchConfig {
    pub(super) roots: Roots,
    pub(super) trusted_hosts: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) max_reply: usize,
}

/// A complete reply.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) url: String,
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// A message to an endpoint, with the value of `Authorization` if the client authenticates with it.
pub(super) enum Message {
    Form(Form, Option<HeaderValue>),
    Json(String),
}

impl Fetcher {
    pub(super) fn new(server: Url, config: FetchConfig) -> Self {
        Self { server, config, networks: OnceCell::new() }
    }

    /// Gets a document. Replies with any status are returned.
    pub(super) async fn get(&self, url: &str) -> Result<Document, OAuthError> {
        let http = self.http(url).await?;
        self.read(url, async move { http.get(HeaderMap::new()).await }).await
    }

    /// Posts to an endpoint. Replies with any status are returned.
    pub(super) async fn post(&self, url: &str, message: Message) -> Result<Document, OAuthError> {
        const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
        let http = self.http(url).await?;
        let mut headers = HeaderMap::new();
        let body = match message {
            Message::Form(form, authorization) => {
                headers.insert(CONTENT_TYPE, FORM);
                headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
                form.into_body()
            }
            Message::Json(text) => text,
        };
        self.read(url, async move { http.post(headers, Bytes::from(body)).await }).await
    }

    /// Whether a URL may be opened or requested: its scheme and host.
    pub(super) fn check(&self, url: &str) -> Result<Url, OAuthError> {
        let refused = |reason: String| OAuthError::Url { url: url.to_owned(), reason };
        let parsed: Url = url.parse().map_err(|error| refused(format!("{error}")))?;
        let may_be_plain = is_loopback(parsed.host()) || is_same_origin(&parsed, &self.server);
        if !parsed.is_https() && !may_be_plain {
            return Err(refused("https is required".to_owned()));
        }
        Ok(parsed)
    }

    async fn http(&self, url: &str) -> Result<Http, OAuthError> {
        let parsed = self.check(url)?;
        let config = HttpClientConfig {
            max_reply: self.config.max_reply,
            connect_timeout: self.config.timeout,
            // The next request is to another URL, or much later.
            idle_connections: 0,
            networks: self.networks(&parsed).await,
            ..HttpClientConfig::default()
        };
        let failed = |source| OAuthError::Request { url: url.to_owned(), source };
        Http::with_roots(parsed, config, &self.config.roots).map_err(failed)
    }

    async fn networks(&self, url: &Url) -> Networks {
        let is_host = |host: &str| host.eq_ignore_ascii_case(url.host());
        if is_host(self.server.host()) || self.config.trusted_hosts.iter().any(|host| is_host(host))
        {
            return Networks::Any;
        }
        *self.networks.get_or_init(|| networks_of(&self.server, self.config.timeout)).await
    }

    async fn read(
        &self,
        url: &str,
        request: impl Future<Output = Result<Reply, TransportError>>,
    ) -> Result<Document, OAuthError> {
        let reply = async {
            let mut reply = request.await?;
            let mut body = Vec::new();
            while let Some(chunk) = reply.chunk().await? {
                body.extend_from_slice(&chunk);
            }
            Ok((reply.status, body))
        };
        let url = url.to_owned();
        match timeout(self.config.timeout, reply).await {
            Ok(Ok((status, body))) => Ok(Document { url, status, body }),
            Ok(Err(source)) => Err(OAuthError::Request { url, source }),
            Err(_) => Err(OAuthError::Timeout { url, after: self.config.timeout }),
        }
    }
}

impl Document {
    pub(super) fn status_error(&self) -> OAuthError {
        OAuthError::Status { url: self.url.clone(), status: self.status }
    }
}

/// The networks of the MCP server. A name is not trusted to be that of this machine, unless it is `localhost`: its owner
/// can change the addresses between two lookups.
async fn networks_of(server: &Url, patience: Duration) -> Networks {
    if let Ok(address) = literal(server.host()).parse::<IpAddr>() {
        return Networks::of(address);
    }
    if is_loopback(server.host()) {
        return Networks::Any;
    }
    let lookup = tokio::net::lookup_host((server.host(), server.port()));
    let Ok(Ok(found)) = timeout(patience, lookup).await else { return Networks::Public };
    let nearest = found.map(|address| Networks::of(address.ip())).min();
    nearest.unwrap_or(Networks::Public).min(Networks::Private)
}

/// Whether a host is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let is_address = || literal(host).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    host.eq_ignore_ascii_case("localhost") || is_address()
}

fn literal(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetcher(server: &str, trusted: &[&str]) -> Fetcher {
        let config = FetchConfig {
            roots: Roots::none(),
            trusted_hosts: trusted.iter().map(|host| (*host).to_owned()).collect(),
            timeout: Duration::from_secs(5),
            max_reply: 100,
        };
        Fetcher::new(server.parse().unwrap(), config)
    }

    #[track_caller]
    fn check(server: &str, url: &str, expected: bool) {
        assert_eq!(fetcher(server, &[]).check(url).is_ok(), expected, "{server} {url}");
    }

    #[test]
    fn requires_https() {
        let server = "https://mcp.example.com/mcp";
        check(server, "https://as.example.com", true);
        check(server, "http://as.example.com", false);
        check(server, "http://127.0.0.1:9/a", true);
        check(server, "http://localhost:9", true);
        check(server, "http://[::1]", true);
        check(server, "http://localhost.example.com", false);
        check(server, "http://mcp.example.com/", false);
        check(server, "file:///etc/passwd", false);
        check(server, "javascript:alert(1)", false);
        check(server, "https://a:b@as.example.com", false);
        check("http://10.0.0.1:8000/mcp", "http://10.0.0.1:8000/a", true);
        check("http://10.0.0.1:8000/mcp", "http://10.0.0.1/a", false);
    }

    #[tokio::test]
    async fn networks_are_those_of_the_server() {
        for (server, url, expected) in [
            ("https://1.1.1.1/mcp", "https://as.example.com", Networks::Public),
            ("https://1.1.1.1/mcp", "https://1.1.1.1:8443", Networks::Any),
            ("https://1.1.1.1/mcp", "https://trusted.example.com", Networks::Any),
            ("https://10.0.0.1/mcp", "https://as.example.com", Networks::Private),
            ("https://127.0.0.1/mcp", "https://as.example.com", Networks::Any),
            ("https://localhost/mcp", "https://as.example.com", Networks::Any),
            ("https://[::1]/mcp", "https://as.example.com", Networks::Any),
            ("https://[fd00::1]/mcp", "https://as.example.com", Networks::Private),
        ] {
            let fetcher = fetcher(server, &["Trusted.example.com"]);
            assert_eq!(fetcher.networks(&url.parse().unwrap()).await, expected, "{server} {url}");
        }
    }

    #[tokio::test]
    async fn public_servers_do_not_lead_to_this_machine() {
        let fetcher = fetcher("https://1.1.1.1/mcp", &[]);
        for url in ["http://localhost:9", "http://127.0.0.1:9", "http://[::1]:9"] {
            let error = fetcher.get(url).await.unwrap_err();
            let error = format!("{error:?}");
            assert!(error.contains("NotPermitted"), "{error}");
        }
    }
}
