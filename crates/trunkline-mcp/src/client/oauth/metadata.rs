//! Metadata of protected resources (RFC 9728) and of authorization servers (RFC 8414, OpenID Connect Discovery 1.0).

use serde::Deserialize;
use trunkline::client::http::Url;

use super::error::{OAuthError, printable};
use super::reply;
use super::scopes::Scopes;
use crate::model::nullable;

/// The maximum number of authorization servers that are considered.
const MAX_SERVERS: usize = 10;

/// The metadata of an MCP server.
#[derive(Debug, Deserialize)]
pub(super) struct ResourceMetadata {
    /// The resource identifier, sent as `resource`.
    pub(super) resource: String,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default, deserialize_with = "reply::scopes")]
    pub(super) scopes_supported: Scopes,
}

/// The metadata of an authorization server.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    #[serde(default, deserialize_with = "reply::scopes")]
    pub(super) scopes_supported: Scopes,
    code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) authorization_response_iss_parameter_supported: bool,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) client_id_metadata_document_supported: bool,
}

impl ResourceMetadata {
    /// Parses a document. Its resource must be the server or a parent path of it, so that tokens are bound to it.
    pub(super) fn parse(from: &str, document: &[u8], server: &Url) -> Result<Self, OAuthError> {
        let mut found: Self = parse(from, document)?;
        if !is_parent(&found.resource, server) {
            let (server, found) = (server.to_string(), printable(&found.resource));
            return Err(OAuthError::Resource { server, found });
        }
        found.authorization_servers.truncate(MAX_SERVERS);
        Ok(found)
    }
}

impl ServerMetadata {
    /// Parses a document, whose issuer must be identical to the expected one.
    pub(super) fn parse(from: &str, document: &[u8], issuer: &str) -> Result<Self, OAuthError> {
        let found: Self = parse(from, document)?;
        if found.issuer != issuer {
            let (expected, found) = (issuer.to_owned(), printable(&found.issuer));
            let place = "the metadata of the authorization server";
            return Err(OAuthError::Issuer { place, expected, found });
        }
        Ok(found)
    }

    /// The endpoints of a server without metadata (MCP 2025-03-26, "Fallbacks for Servers without Metadata Discovery").
    pub(super) fn of_origin(origin: &str) -> Self {
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            scopes_supported: Scopes::default(),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: None,
            authorization_response_iss_parameter_supported: false,
            client_id_metadata_document_supported: false,
        }
    }

    pub(super) fn supports_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        methods.iter().any(|method| method == "S256")
    }

    pub(super) fn supports_authentication(&self, method: &str) -> bool {
        match &self.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|supported| supported == method),
            // RFC 8414, section 2.
            None => method == "client_secret_basic",
        }
    }

    /// A required endpoint.
    pub(super) fn endpoint<'a>(
        &self,
        endpoint: &'a Option<String>,
        missing: &'static str,
    ) -> Result<&'a str, OAuthError> {
        let issuer = || self.issuer.clone();
        endpoint.as_deref().ok_or_else(|| OAuthError::Unsupported { issuer: issuer(), missing })
    }
}

fn parse<'a, T: Deserialize<'a>>(from: &str, document: &'a [u8]) -> Result<T, OAuthError> {
    serde_json::from_slice(document).map_err(|error| OAuthError::Malformed {
        url: from.to_owned(),
        reason: printable(&error.to_string()),
    })
}

/// Whether a resource identifier is that of the server, or of a parent path.
fn is_parent(resource: &str, server: &Url) -> bool {
    let Ok(parent) = resource.parse::<Url>() else { return false };
    let is_same_origin = is_same_origin(&parent, server);
    let (path, parent_path) = (server.path(), parent.path().trim_end_matches('/'));
    let is_prefix =
        path.strip_prefix(parent_path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let has_same_query = parent.query().is_none() || parent.query() == server.query();
    is_same_origin && is_prefix && has_same_query && !resource.contains('#')
}

pub(super) fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.is_https() == b.is_https() && a.port() == b.port() && a.host().eq_ignore_ascii_case(b.host())
}

/// The resource identifier of a server without metadata: its URL, without the slash of an empty path.
pub(super) fn resource_of(server: &Url) -> String {
    let text = server.to_string();
    match (server.path(), server.query()) {
        ("/", None) => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

/// The URLs of the metadata of a protected resource, in the order in which to try them.
pub(super) fn resource_metadata_urls(server: &Url) -> Vec<String> {
    well_known(server, "oauth-protected-resource", true)
}

/// The URLs of the metadata of an authorization server, in the order in which to try them.
pub(super) fn server_metadata_urls(issuer: &Url) -> Vec<String> {
    let mut urls = well_known(issuer, "oauth-authorization-server", false);
    urls.extend(well_known(issuer, "openid-configuration", false));
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        urls.push(format!("{}{path}/.well-known/openid-configuration", issuer.origin()));
    }
    urls
}

/// The well-known URI before the path, and the one of the origin if `or_root`.
fn well_known(url: &Url, name: &str, or_root: bool) -> Vec<String> {
    let (origin, path) = (url.origin(), url.path().trim_end_matches('/'));
    let root = format!("{origin}/.well-known/{name}");
    match (path.is_empty(), or_root) {
        (true, _) => vec![root],
        (false, true) => vec![format!("{root}{path}"), root],
        (false, false) => vec![format!("{root}{path}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_urls(found: fn(&Url) -> Vec<String>, url: &str, expected: &[&str]) {
        assert_eq!(found(&url.parse().unwrap()), expected, "{url}");
    }

    #[test]
    fn urls_of_metadata() {
        const RESOURCE: fn(&Url) -> Vec<String> = resource_metadata_urls;
        const SERVER: fn(&Url) -> Vec<String> = server_metadata_urls;

        let root = "https://h/.well-known/oauth-protected-resource";
        check_urls(RESOURCE, "https://h", &[root]);
        check_urls(RESOURCE, "https://h/", &[root]);
        check_urls(RESOURCE, "https://h/a/mcp?b", &[&format!("{root}/a/mcp"), root]);
        check_urls(RESOURCE, "https://h/mcp/", &[&format!("{root}/mcp"), root]);

        check_urls(
            SERVER,
            "https://h:1",
            &[
                "https://h:1/.well-known/oauth-authorization-server",
                "https://h:1/.well-known/openid-configuration",
            ],
        );
        check_urls(
            SERVER,
            "https://h/tenant1/",
            &[
                "https://h/.well-known/oauth-authorization-server/tenant1",
                "https://h/.well-known/openid-configuration/tenant1",
                "https://h/tenant1/.well-known/openid-configuration",
            ],
        );
    }

    #[track_caller]
    fn check_resource(resource: &str, expected: bool) {
        let server: Url = "https://mcp.example.com/a/mcp?b=c".parse().unwrap();
        let document = serde_json::json!({ "resource": resource }).to_string();
        let found = ResourceMetadata::parse("u", document.as_bytes(), &server);
        assert_eq!(found.is_ok(), expected, "{resource}: {found:?}");
    }

    #[test]
    fn resources_contain_the_server() {
        check_resource("https://mcp.example.com/a/mcp?b=c", true);
        check_resource("https://mcp.example.com/a/mcp", true);
        check_resource("https://MCP.example.com:443/a/", true);
        check_resource("https://mcp.example.com", true);
        check_resource("https://mcp.example.com/", true);

        check_resource("https://mcp.example.com/a/mcp?b=d", false);
        check_resource("https://mcp.example.com/a/m", false);
        check_resource("https://mcp.example.com/a/mcp/more", false);
        check_resource("https://mcp.example.com/A", false);
        check_resource("https://mcp.example.com#a", false);
        check_resource("http://mcp.example.com", false);
        check_resource("https://mcp.example.com:8443", false);
        check_resource("https://evil.example.com/a/mcp", false);
        check_resource("mcp.example.com", false);
        check_resource("", false);
    }

    #[track_caller]
    fn check_server(document: &str, expected: Result<bool, &str>) {
        let found = ServerMetadata::parse("u", document.as_bytes(), "https://as/t");
        let found = found.map(|found| found.supports_pkce()).map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{document}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            _ => panic!("{document}: {found:?}"),
        }
    }

    #[test]
    fn validates_metadata_of_authorization_servers() {
        let with = |rest: &str| format!(r#"{{"issuer": "https://as/t"{rest}}}"#);
        check_server(&with(""), Ok(false));
        check_server(&with(r#", "code_challenge_methods_supported": ["plain"]"#), Ok(false));
        check_server(&with(r#", "code_challenge_methods_supported": ["plain", "S256"]"#), Ok(true));
        check_server(&with(r#", "scopes_supported": null, "other": {}"#), Ok(false));
        check_server(r#"{"issuer": "https://as/t/"}"#, Err("instead of `https://as/t`"));
        check_server(r#"{"issuer": "https://AS/t"}"#, Err("`https://AS/t`"));
        check_server("{}", Err("missing field `issuer`"));
        check_server("<html>", Err("invalid reply from u"));
        check_server(&with(r#", "token_endpoint": 1"#), Err("invalid type"));
    }

    #[test]
    fn resource_identifiers_have_no_slash_of_an_empty_path() {
        for (url, expected) in [
            ("https://h", "https://h"),
            ("https://h/", "https://h"),
            ("https://h/mcp/", "https://h/mcp/"),
            ("https://h/?a", "https://h/?a"),
            ("https://h/mcp#a", "https://h/mcp"),
        ] {
            assert_eq!(resource_of(&url.parse().unwrap()), expected);
        }
    }
}
