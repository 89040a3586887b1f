//! OAuth of MCP servers: the tokens of the user.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use trunkline::client::http::Url;
use trunkline_mcp::client::Authorization;
use trunkline_mcp::client::oauth::{FileStore, Grant, Loopback, OAuth, OAuthConfig, OAuthError};

use crate::terminal::Failure;

/// The authorization for a server, with tokens in this directory. `open` shows the user a page.
///
/// # Errors
///
/// When the URL is not supported.
pub(crate) fn of_user(
    url: &Url,
    folder: PathBuf,
    open: impl Fn(&str) + Send + Sync + 'static,
) -> Result<OAuth, OAuthError> {
    let grant = Grant::AuthorizationCode(Loopback::new(open).into());
    OAuth::new(&url.to_string(), config(grant, folder))
}

/// The tokens of an earlier login, which are refreshed. `None` if the directory does not exist.
///
/// # Errors
///
/// When the URL is not supported.
pub(crate) fn earlier(url: &Url) -> Result<Option<Arc<dyn Authorization>>, OAuthError> {
    let Some(folder) = folder().filter(|folder| folder.is_dir()) else { return Ok(None) };
    let oauth = OAuth::new(&url.to_string(), config(Grant::Stored, folder))?;
    Ok(Some(Arc::new(oauth)))
}

fn config(grant: Grant, folder: PathBuf) -> OAuthConfig {
    let mut config = OAuthConfig::new(grant);
    "Trunkline".clone_into(&mut config.client_name);
    config.store = Arc::new(FileStore::new(folder));
    config
}

/// The directory for tokens.
///
/// # Errors
///
/// When the user's data directory is unknown.
pub(crate) fn tokens_folder() -> Result<PathBuf, Failure> {
    folder().ok_or_else(|| {
        let text = "trunkline: no directory for tokens\n  try: set XDG_DATA_HOME or HOME\n";
        Failure::Message(text.to_owned())
    })
}

/// `trunkline/tokens` in the user's data directory, as the XDG Base Directory Specification defines it.
fn folder() -> Option<PathBuf> {
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| env::home_dir().map(|home| home.join(".local/share")));
    Some(data?.join("trunkline/tokens")).filter(|path| path.is_absolute())
}
