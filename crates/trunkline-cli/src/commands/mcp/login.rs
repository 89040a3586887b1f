//! OAuth: logging in with a browser, and the tokens of earlier logins.

use std::env;
use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use trunkline::client::http::Url;
use trunkline_mcp::client::oauth::{FileStore, Grant, Loopback, OAuth, OAuthConfig};
use trunkline_mcp::client::{Authorization, AuthorizationError, Challenge};

use super::questions::open_in_browser;
use crate::terminal::{Failure, StatusLine, line};

/// The authorization for a server, which opens a browser if the server requires it.
///
/// # Errors
///
/// When the user's data directory is unknown.
pub(super) fn with_browser(
    url: &Url,
    status: &Arc<StatusLine>,
) -> Result<Arc<dyn Authorization>, Failure> {
    let folder = folder().ok_or_else(|| {
        let text = "trunkline: no directory for tokens\n  try: set XDG_DATA_HOME or HOME\n";
        Failure::Message(text.to_owned())
    })?;
    let status = Arc::clone(status);
    let open = move |page: &str| {
        status.message(&format!("log in with the browser; the page is {}\n", line(page)));
        open_in_browser(page);
    };
    Ok(Arc::new(oauth(url, folder, open)?))
}

/// The tokens of an earlier login. `None` if the directory does not exist.
///
/// # Errors
///
/// When the URL is not supported.
pub(super) fn earlier(url: &Url) -> Result<Option<Arc<dyn Authorization>>, Failure> {
    let Some(folder) = folder().filter(|folder| folder.is_dir()) else { return Ok(None) };
    Ok(Some(Arc::new(Earlier(oauth(url, folder, |_| {})?))))
}

fn oauth(
    url: &Url,
    folder: PathBuf,
    open: impl Fn(&str) + Send + Sync + 'static,
) -> Result<OAuth, Failure> {
    let mut config = OAuthConfig::new(Grant::AuthorizationCode(Loopback::new(open).into()));
    "Trunkline".clone_into(&mut config.client_name);
    config.store = Arc::new(FileStore::new(folder));
    OAuth::new(&url.to_string(), config).map_err(|error| Failure::Usage(error.to_string()))
}

/// Tokens that are refreshed, but not obtained: that requires the user.
struct Earlier(OAuth);

type Outcome<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthorizationError>> + Send + 'a>>;

impl Authorization for Earlier {
    fn token(&self) -> Outcome<'_, Option<String>> {
        self.0.token()
    }

    fn challenged(&self, _challenge: Challenge) -> Outcome<'_, bool> {
        Box::pin(ready(Ok(false)))
    }
}

/// `trunkline/tokens` in the user's data directory, as the XDG Base Directory Specification defines it.
fn folder() -> Option<PathBuf> {
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| env::home_dir().map(|home| home.join(".local/share")));
    Some(data?.join("trunkline/tokens")).filter(|path| path.is_absolute())
}
