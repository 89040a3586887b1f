//! `--store`, and `store.url` in the file.

use std::fmt;

use anyhow::Context;
use trunkline_sql::postgres::PostgresUrl;
use trunkline_storage::Location;

use super::secret::SecretFile;
use crate::terminal::Sensitive;

/// The database of the state that nodes share. `Display` and `Debug` omit the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(Box<PostgresUrl>);

impl StoreUrl {
    /// The error does not contain the text, which may have a password.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !PostgresUrl::is_meant(text) {
            return Err("expected postgres://USER@HOST/DATABASE; the directory of a store in files is --data-dir".to_owned());
        }
        text.parse()
            .map(|url| Self(Box::new(url)))
            .map_err(|error: trunkline_storage::ConnectError| error.to_string())
    }

    /// Completes the URL by the variables and the password file of PostgreSQL, and its password is read from `file`
    /// again for new connections.
    pub(crate) fn location(&self, file: Option<&SecretFile>) -> anyhow::Result<Location> {
        let mut url = PostgresUrl::clone(&self.0);
        if let Some(file) = file.cloned() {
            url = url.with_source(move || file.read());
        }
        Location::of_url(&url).with_context(|| format!("invalid --store {self}"))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads `--store`, which may be a URL with a password.
pub(crate) const STORE: Sensitive<StoreUrl> =
    Sensitive(|value| StoreUrl::parse(&value.to_string_lossy()));
