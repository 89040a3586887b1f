//! The sources of keys, and their cache.

mod cache;
mod source;

use std::path::PathBuf;
use std::sync::Arc;

pub use source::{KeysError, Refresh};

use super::key::Key;
use super::key_set::{KeySet, KeySetError};
use super::token::{Token, TokenError};
use cache::Cache;
pub(super) use cache::Opened;
use source::Source;
use trunkline_client::http::Url;

/// The keys that check tokens: given, in a file, or at a URL. Cloning is cheap; clones share the cache.
#[derive(Debug, Clone)]
pub struct Keys(Inner);

#[derive(Debug, Clone)]
enum Inner {
    Fixed(Arc<KeySet>),
    Read(Arc<Cache>),
}

impl Keys {
    /// These keys, which never change.
    pub fn fixed(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(Inner::Fixed(Arc::new(KeySet::new(keys))))
    }

    /// The keys of a JSON Web Key Set, which never change. Keys that cannot check signatures are left out.
    ///
    /// # Errors
    /// When the text is not such a set, or none of its keys can be used.
    pub fn jwks(json: &str) -> Result<Self, KeySetError> {
        Ok(Self(Inner::Fixed(Arc::new(KeySet::parse(json.as_bytes())?))))
    }

    /// The keys of a JSON Web Key Set in a file. It is read again, at most once a second, before a token
    /// is checked 4 s or more after the last reading, or if no cached key fits the token. So a changed file
    /// is used within 4 s. A file that cannot be read, or is not such a set, is logged, and the cached
    /// keys stay.
    ///
    /// The first token reads the file; [`load`](Self::load) reads it at once.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(Inner::Read(Cache::new(Source::File(path), Refresh::of_files())))
    }

    /// The keys of a JSON Web Key Set at a URL, with the default [`Refresh`]. Secrets in it, for HS256,
    /// HS384 and HS512, are left out: anyone who can fetch them can sign.
    ///
    /// A token after [`Refresh::after`] is checked with the cached keys, while they are fetched again. A
    /// token after [`Refresh::wait_after`], or one that no cached key fits, waits for the fetch.
    ///
    /// The first token fetches the keys; [`load`](Self::load) fetches them at once. Redirects are not
    /// followed. Over plain `http`, an attacker in the network can replace the keys.
    ///
    /// # Errors
    /// When it is an `https` URL, and the feature `tls` or trusted authorities are missing.
    pub fn url(url: Url) -> Result<Self, KeysError> {
        Self::url_with(url, Refresh::default())
    }

    /// The same with another [`Refresh`].
    ///
    /// # Errors
    /// As for [`url`](Self::url).
    pub fn url_with(url: Url, refresh: Refresh) -> Result<Self, KeysError> {
        Ok(Self(Inner::Read(Cache::new(Source::url(url, &refresh)?, refresh))))
    }

    /// Reads the file, or fetches from the URL. Tokens that need the keys wait for it.
    ///
    /// # Errors
    /// When that fails. The cached keys stay, and the next token tries again.
    ///
    /// # Cancel safety
    /// A reading of keys continues in the background.
    pub async fn load(&self) -> Result<(), KeysError> {
        match &self.0 {
            Inner::Fixed(_) => Ok(()),
            Inner::Read(cache) => cache.load().await,
        }
    }

    pub(super) fn open(&self, token: &Token<'_>) -> Opened {
        match &self.0 {
            Inner::Fixed(keys) => Opened::Now(keys.open(token).map_err(|unopened| unopened.error)),
            Inner::Read(cache) => cache.open(token),
        }
    }

    /// The claims' JSON text, by the cached keys.
    pub(super) fn open_now(&self, token: &Token<'_>) -> Result<Vec<u8>, TokenError> {
        match &self.0 {
            Inner::Fixed(keys) => keys.open(token).map_err(|unopened| unopened.error),
            Inner::Read(cache) => cache.open_now(token),
        }
    }
}
