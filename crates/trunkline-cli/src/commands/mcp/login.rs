//! OAuth: logging in with a browser.

use std::sync::Arc;

use trunkline::client::http::Url;
use trunkline_mcp::client::Authorization;

use super::questions::open_in_browser;
use crate::oauth;
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
    let folder = oauth::tokens_folder()?;
    let status = Arc::clone(status);
    let open = move |page: &str| {
        status.message(&format!("log in with the browser; the page is {}\n", line(page)));
        open_in_browser(page);
    };
    let oauth = oauth::of_user(url, folder, open);
    Ok(Arc::new(oauth.map_err(|error| Failure::Usage(error.to_string()))?))
}
