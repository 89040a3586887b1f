//! Finds the authorization server of an MCP server.

use http::StatusCode;
use trunkline::client::http::Url;

use super::challenge::BearerChallenge;
use super::error::OAuthError;
use super::fetch::Fetcher;
use super::metadata::{self, ResourceMetadata, ServerMetadata};
use super::scopes::Scopes;

/// The authorization server of an MCP server.
#[derive(Debug)]
pub(super) struct Discovery {
    pub(super) server: ServerMetadata,
    /// The resource identifier.
    pub(super) resource: String,
    /// The scopes in the metadata of the resource.
    pub(super) scopes: Scopes,
}

impl Discovery {
    /// Reads the metadata of the resource and of its authorization server. If the resource names several, `prefers`
    /// selects one.
    pub(super) async fn find(
        fetcher: &Fetcher,
        server: &Url,
        challenge: &BearerChallenge,
        prefers: impl Fn(&str) -> bool,
    ) -> Result<Self, OAuthError> {
        let Some(found) = resource_metadata(fetcher, server, challenge).await? else {
            return without_resource_metadata(fetcher, server).await;
        };
        let issuers = &found.authorization_servers;
        let issuer = issuers.iter().find(|issuer| prefers(issuer)).or(issuers.first());
        let issuer = issuer.ok_or_else(|| OAuthError::Malformed {
            url: server.to_string(),
            reason: "the metadata of the resource name no authorization server".to_owned(),
        })?;
        let tried = server_metadata(fetcher, issuer).await?;
        let server = tried.ok_or_else(|| OAuthError::Unsupported {
            issuer: issuer.clone(),
            missing: "metadata (RFC 8414 or OpenID Connect Discovery)",
        })?;
        Ok(Self { server, resource: found.resource, scopes: found.scopes_supported })
    }
}

/// The metadata of the resource, from the URL in the challenge or a well-known one. `None` if the server has no metadata.
async fn resource_metadata(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &BearerChallenge,
) -> Result<Option<ResourceMetadata>, OAuthError> {
    if let Some(url) = &challenge.resource_metadata {
        let reply = fetcher.get(url).await?;
        if reply.status != StatusCode::OK {
            return Err(reply.status_error());
        }
        return ResourceMetadata::parse(url, &reply.body, server).map(Some);
    }
    let urls = metadata::resource_metadata_urls(server);
    first_found(fetcher, urls, |url, body| ResourceMetadata::parse(url, body, server)).await
}

/// The metadata of an authorization server. `None` if the server has no metadata.
async fn server_metadata(
    fetcher: &Fetcher,
    issuer: &str,
) -> Result<Option<ServerMetadata>, OAuthError> {
    let url = fetcher.check(issuer)?;
    if url.query().is_some() || issuer.contains('#') {
        let reason = "an issuer has neither a query nor a fragment".to_owned();
        return Err(OAuthError::Url { url: issuer.to_owned(), reason });
    }
    let urls = metadata::server_metadata_urls(&url);
    first_found(fetcher, urls, |url, body| ServerMetadata::parse(url, body, issuer)).await
}

/// The first document at these URLs. `None` if they have no document.
async fn first_found<T>(
    fetcher: &Fetcher,
    urls: Vec<String>,
    parse: impl Fn(&str, &[u8]) -> Result<T, OAuthError>,
) -> Result<Option<T>, OAuthError> {
    for url in urls {
        let reply = fetcher.get(&url).await?;
        match reply.status {
            StatusCode::OK => return parse(&url, &reply.body).map(Some),
            status if status.is_client_error() => {}
            _ => return Err(reply.status_error()),
        }
    }
    Ok(None)
}

/// The rules of the revision 2025-03-26: the server is its own authorization server, with metadata at its origin or with
/// the default endpoints.
async fn without_resource_metadata(
    fetcher: &Fetcher,
    server: &Url,
) -> Result<Discovery, OAuthError> {
    let origin = server.origin();
    let found = server_metadata(fetcher, &origin).await?;
    Ok(Discovery {
        server: found.unwrap_or_else(|| ServerMetadata::of_origin(&origin)),
        resource: metadata::resource_of(server),
        scopes: Scopes::default(),
    })
}
