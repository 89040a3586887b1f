//! Protected resources (RFC 9728): the identifier of a service, and its metadata for OAuth clients.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use serde::Serialize;

use super::scopes::Scopes;

/// The identifier of a service as an OAuth resource (RFC 8707, section 2): its URL as clients know it, in canonical
/// form. The scheme and the host are in lower case, and the default port and a slash at the end are omitted.
///
/// ```
/// # use trunkline::access::ResourceUrl;
/// let url: ResourceUrl = "HTTPS://DB.example.com:443/mcp".parse()?;
/// assert_eq!(url.to_string(), "https://db.example.com/mcp");
/// assert_eq!(url.metadata_url(), "https://db.example.com/.well-known/oauth-protected-resource/mcp");
/// # Ok::<(), trunkline::access::ResourceUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResourceUrl {
    scheme: &'static str,
    /// Without a port.
    host: String,
    port: Option<u16>,
    /// Empty, or begins with a slash and does not end with one.
    path: String,
}

/// The error for an invalid [`ResourceUrl`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceUrlError {
    /// The scheme is missing, or neither `https` nor `http`.
    #[error("resource URL must begin with https://")]
    Scheme,
    /// The authority contains a user or a password.
    #[error("resource URL must not contain a user or password")]
    UserInfo,
    /// A query or a fragment.
    #[error("resource URL must not have a query or fragment; use `{0}`")]
    Suffix(String),
    /// The text is not a URL or has no host.
    #[error("invalid resource URL; expected a URL such as https://db.example.com/mcp")]
    Malformed,
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl ResourceUrl {
    /// The host, without a port. An IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether other machines cannot read the traffic: the scheme is `https`, or the host is this machine.
    #[must_use]
    pub fn is_confidential(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        self.scheme == "https" || is_loopback || self.host == "localhost"
    }

    /// The URL of the metadata (RFC 9728, section 3.1).
    #[must_use]
    pub fn metadata_url(&self) -> String {
        format!("{}{}", self.origin(), self.metadata_path())
    }

    /// The path of the metadata.
    #[must_use]
    pub fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.path)
    }

    fn origin(&self) -> String {
        let Self { scheme, host, .. } = self;
        match self.port {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        }
    }
}

impl FromStr for ResourceUrl {
    type Err = ResourceUrlError;

    fn from_str(text: &str) -> Result<Self, ResourceUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(ResourceUrlError::Scheme)?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "https" => ("https", 443),
            "http" => ("http", 80),
            _ => return Err(ResourceUrlError::Scheme),
        };
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(ResourceUrlError::UserInfo);
        }
        if let Some(end) = text.find(['?', '#']) {
            return Err(ResourceUrlError::Suffix(text[..end].to_owned()));
        }
        let uri: Uri = text.parse().map_err(|_| ResourceUrlError::Malformed)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(ResourceUrlError::Malformed)?;
        // `http` treats an invalid port as absent.
        let has_port = authority.len() > host.len();
        if has_port && uri.port_u16().is_none() {
            return Err(ResourceUrlError::Malformed);
        }
        if !uri.path().bytes().all(is_path) {
            return Err(ResourceUrlError::Malformed);
        }
        // Some clients add a slash, which is the same resource to all servers of MCP.
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        if path.ends_with('/') {
            return Err(ResourceUrlError::Malformed);
        }
        Ok(Self {
            scheme,
            host: host.to_ascii_lowercase(),
            port: uri.port_u16().filter(|port| *port != default_port),
            path: path.to_owned(),
        })
    }
}

/// RFC 3986, section 3.3. None of these characters needs a quotation in a header.
fn is_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&byte)
}

impl fmt::Display for ResourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

/// Whether two audiences are equal, or URLs of the same resource.
#[cfg(feature = "jwt")]
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let url = |text: &str| text.parse::<ResourceUrl>().ok();
    one == other || url(one).is_some_and(|one| url(other) == Some(one))
}

/// Whether two issuers are equal, except for a slash at the end of a URL: a token has the identifier as its issuer
/// writes it, and a setting often without the slash.
#[cfg(feature = "jwt")]
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare =
        |text: &str| text.strip_suffix('/').filter(|text| text.contains("://")).map(str::len);
    let end = |text: &str| bare(text).unwrap_or(text.len());
    one[..end(one)] == other[..end(other)]
}

/// A service that accepts the tokens of OAuth authorization servers: the metadata that clients discover (RFC 9728).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The identifier. MCP clients expect the URL of the MCP endpoint, such as `https://db.example.com/mcp`.
    pub url: ResourceUrl,
    /// The issuer identifiers of the authorization servers, exactly as in the claim `iss` of their tokens.
    pub authorization_servers: Vec<String>,
    /// The scopes that clients may request. Default: empty, not published.
    pub scopes_supported: Scopes,
    /// The scopes that a client without a valid token is asked to request: those of basic use. Operations may
    /// [require](super::Principal::has_scope) more. Default: empty.
    pub initial_scopes: Scopes,
    /// The name, for people. Default: not published.
    pub name: Option<String>,
}

/// The metadata (RFC 9728, section 2).
#[derive(Serialize)]
struct Metadata<'a> {
    resource: String,
    authorization_servers: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<&'a str>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<&'a str>,
}

impl ProtectedResource {
    /// A resource whose tokens these authorization servers issue.
    pub fn new<I>(url: ResourceUrl, authorization_servers: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let authorization_servers = authorization_servers.into_iter().map(Into::into).collect();
        let (scopes_supported, initial_scopes, name) = Default::default();
        Self { url, authorization_servers, scopes_supported, initial_scopes, name }
    }

    /// The metadata as JSON (RFC 9728, section 2).
    #[must_use]
    pub fn metadata(&self) -> Vec<u8> {
        let metadata = Metadata {
            resource: self.url.to_string(),
            authorization_servers: &self.authorization_servers,
            scopes_supported: self.scopes_supported.iter().collect(),
            bearer_methods_supported: ["header"],
            resource_name: self.name.as_deref(),
        };
        serde_json::to_vec(&metadata).expect("text serialises into memory")
    }

    /// The paths of the metadata: that of its URL, and that of the origin, which MCP clients try last.
    #[must_use]
    pub fn metadata_paths(&self) -> Vec<String> {
        let mut paths = vec![self.url.metadata_path()];
        if paths[0] != WELL_KNOWN {
            paths.push(WELL_KNOWN.to_owned());
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, ResourceUrlError>) {
        let found = text.parse::<ResourceUrl>().map(|url| url.to_string());
        assert_eq!(found, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn parses_canonical_urls() {
        for (text, expected) in [
            ("https://mcp.example.com", "https://mcp.example.com"),
            ("https://mcp.example.com/", "https://mcp.example.com"),
            ("HTTPS://MCP.Example.com:443/Mcp", "https://mcp.example.com/Mcp"),
            ("https://mcp.example.com:8443", "https://mcp.example.com:8443"),
            ("https://mcp.example.com/server/mcp", "https://mcp.example.com/server/mcp"),
            ("https://h/mcp/", "https://h/mcp"),
            ("http://127.0.0.1:80/mcp", "http://127.0.0.1/mcp"),
            ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
        ] {
            check(text, Ok(expected));
        }
        let suffix = || ResourceUrlError::Suffix("https://h/mcp".to_owned());
        for (text, expected) in [
            ("mcp.example.com", ResourceUrlError::Scheme),
            ("ftp://h", ResourceUrlError::Scheme),
            ("https://h/mcp#part", suffix()),
            ("https://h/mcp?a=b", suffix()),
            ("https://h/mcp//", ResourceUrlError::Malformed),
            ("https://h//", ResourceUrlError::Malformed),
            ("https://a:b@h/mcp", ResourceUrlError::UserInfo),
            ("https://", ResourceUrlError::Malformed),
            ("https://:443", ResourceUrlError::Malformed),
            ("https://h:65536", ResourceUrlError::Malformed),
            ("https://h:", ResourceUrlError::Malformed),
            ("https://h/a\"b", ResourceUrlError::Malformed),
            ("https://h/a b", ResourceUrlError::Malformed),
            ("", ResourceUrlError::Scheme),
        ] {
            check(text, Err(expected));
        }
    }

    #[test]
    fn knows_confidential_urls() {
        for (text, expected) in [
            ("https://example.com", true),
            ("http://localhost:8080/mcp", true),
            ("http://127.0.0.2", true),
            ("http://[::1]:1", true),
            ("http://example.com", false),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            let url: ResourceUrl = text.parse().unwrap();
            assert_eq!(url.is_confidential(), expected, "{text}");
        }
    }

    #[cfg(feature = "jwt")]
    #[test]
    fn compares_audiences_as_urls() {
        let url = "https://db.example.com/mcp";
        for (audience, expected) in [
            (url, true),
            ("HTTPS://DB.EXAMPLE.COM/mcp", true),
            ("https://db.example.com:443/mcp", true),
            ("https://db.example.com/MCP", false),
            ("https://db.example.com", false),
            ("https://db.example.com/mcp/", true),
            ("https://db.example.com/mcp//", false),
            ("https://db.example.com/mcp/sub", false),
            ("https://db.example.com/mcp?x", false),
            ("https://db.example.com.evil.example/mcp", false),
            ("https://evil@db.example.com/mcp", false),
            ("http://db.example.com/mcp", false),
            ("", false),
        ] {
            assert_eq!(is_same(url, audience), expected, "{audience}");
        }
        assert!(is_same("shop", "shop") && !is_same("shop", "Shop"));
        assert!(is_same("https://h", "https://h/"));
    }

    #[cfg(feature = "jwt")]
    #[test]
    fn compares_issuers_up_to_a_slash() {
        for (one, other, expected) in [
            ("https://tenant.auth0.com/", "https://tenant.auth0.com", true),
            ("https://h/realms/a", "https://h/realms/a/", true),
            ("https://h/", "https://h/", true),
            ("https://h//", "https://h", false),
            ("https://h/realms/a", "https://h/realms/b", false),
            ("https://h", "https://H", false),
            ("https://h", "http://h", false),
            ("https://h:443", "https://h", false),
            ("issuer", "issuer", true),
            ("issuer/", "issuer", false),
            ("", "", true),
            ("/", "", false),
        ] {
            assert_eq!(is_same_issuer(one, other), expected, "{one} {other}");
            assert_eq!(is_same_issuer(other, one), expected, "{other} {one}");
        }
    }
}
