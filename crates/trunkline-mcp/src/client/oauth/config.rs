use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use trunkline::client::http::Roots;

use super::assertion::AssertionSource;
use super::client_id::RegisteredClient;
use super::interaction::Interaction;
use super::store::{MemoryStore, TokenStore};

/// Configuration of [`OAuth`](super::OAuth).
pub struct OAuthConfig {
    /// The way to obtain tokens.
    pub grant: Grant,
    /// The clients that are registered at authorization servers. If there are any, tokens are only requested from their
    /// authorization servers. Default: none.
    pub clients: Vec<RegisteredClient>,
    /// The URL of the client's metadata document, which is the client id at authorization servers that support it
    /// (Client ID Metadata Documents). It contains the redirect URI. Default: none.
    pub client_metadata_url: Option<String>,
    /// The name of the client in dynamic registrations, which users see. Default `MCP client`.
    pub client_name: String,
    /// Scopes that are requested in addition to those that the server requires. Default: none.
    pub scopes: Vec<String>,
    /// Whether to request the scope `offline_access`, for a refresh token, from authorization servers that support it.
    /// Default `true`. Only for the authorization code grant.
    pub offline_access: bool,
    /// The store of tokens and registrations. Default: a new [`MemoryStore`].
    pub store: Arc<dyn TokenStore>,
    /// The root certificates that verify https servers. Default: those of this machine.
    pub roots: Roots,
    /// Hosts of authorization servers that may be in any network. Other hosts in private networks are refused, unless the
    /// MCP server is in a private network, too; and this machine is refused, unless the MCP server is on it, too. Default:
    /// none.
    pub trusted_hosts: Vec<String>,
    /// The deadline of each request. Default 10 s.
    pub timeout: Duration,
    /// The maximum size of a reply in bytes. Default 256 KiB.
    pub max_reply: usize,
    /// The remaining lifetime at which an access token is refreshed. Default 30 s.
    pub expiry_margin: Duration,
    /// The maximum number of attempts to obtain new tokens for refused requests within
    /// [`attempts_within`](Self::attempts_within). Default 3.
    pub max_attempts: usize,
    /// The period for [`max_attempts`](Self::max_attempts). Default 60 s.
    pub attempts_within: Duration,
}

/// The way to obtain tokens.
#[non_exhaustive]
pub enum Grant {
    /// A user authorizes the client: the authorization code grant with PKCE.
    AuthorizationCode(Interaction),
    /// The client acts on its own behalf: the client credentials grant, with one of the
    /// [registered clients](OAuthConfig::clients).
    ClientCredentials,
    /// The client presents an assertion of another issuer (RFC 7523, section 2.1), such as the token of a workload, or one
    /// of an [`IdentityProvider`](super::IdentityProvider). The client is one of the
    /// [registered clients](OAuthConfig::clients).
    JwtBearer(Box<dyn AssertionSource>),
    /// The client uses the tokens in the store, which another client has obtained. They are refreshed, but no others are
    /// obtained.
    Stored,
}

impl OAuthConfig {
    /// The defaults, with this grant.
    #[must_use]
    pub fn new(grant: Grant) -> Self {
        Self {
            grant,
            clients: Vec::new(),
            client_metadata_url: None,
            client_name: "MCP client".to_owned(),
            scopes: Vec::new(),
            offline_access: true,
            store: Arc::new(MemoryStore::default()),
            roots: Roots::default(),
            trusted_hosts: Vec::new(),
            timeout: Duration::from_secs(10),
            max_reply: 256 << 10,
            expiry_margin: Duration::from_secs(30),
            max_attempts: 3,
            attempts_within: Duration::from_secs(60),
        }
    }
}

debug_fields!(OAuthConfig: grant, clients, client_metadata_url, scopes, trusted_hosts);

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AuthorizationCode(interaction) => {
                f.debug_tuple("AuthorizationCode").field(interaction).finish()
            }
            Self::ClientCredentials => f.write_str("ClientCredentials"),
            Self::JwtBearer(_) => f.write_str("JwtBearer"),
            Self::Stored => f.write_str("Stored"),
        }
    }
}
