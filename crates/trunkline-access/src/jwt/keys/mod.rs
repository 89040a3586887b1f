//! The sources of keys and their cache.

mod cache;
mod source;

use std::path::PathBuf;
use std::sync::Arc;

pub use source::{KeysError, Refresh};

use super::key::Key;
use super::key_set::{KeySet, KeySetError};
use super::token::{Token, TokenError};
use cache::Cache;
pub(super) use cache::Claims;
use source::Source;
use trunkline_client::http::Url;

/// The keys that verify tokens: fixed, in a file, or at a URL. Cloning is cheap; clones share the cache.
#[derive(Debug, Clone)]
pub struct Keys(Inner);

#[derive(Debug, Clone)]
enum Inner {
    Fixed(Arc<KeySet>),
    Read(Arc<Cache>),
}

impl Keys {
    /// A fixed list of keys.
    pub fn fixed(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(Inner::Fixed(Arc::new(KeySet::new(keys))))
    }

    /// The keys of a JSON Web Key Set, fixed. Skips keys that cannot verify signatures.
    ///
    /// # Errors
    /// When the text is not a key set, or none of its keys is usable.
    pub fn jwks(json: &str) -> Result<Self, KeySetError> {
        Ok(Self(Inner::Fixed(Arc::new(KeySet::parse(json.as_bytes())?))))
    }

    /// The keys of a JSON Web Key Set in a file. The file is read again, at most once a second, when a token
    /// arrives 4 s or more after the last read, or when no cached key matches the token. A changed file thus
    /// takes effect within 4 s. If the file cannot be read or is not a key set, the error is logged and the
    /// cached keys remain in use.
    ///
    /// The first token triggers the first read; [`load`](Self::load) reads the file immediately.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(Inner::Read(Cache::new(Source::File(path), Refresh::for_files())))
    }

    /// The keys of a JSON Web Key Set at a URL, with the default [`Refresh`]. Secrets in the set (HS256,
    /// HS384, HS512) are ignored: anyone who can fetch them can sign tokens.
    ///
    /// After [`Refresh::after`], tokens are verified with the cached keys while the keys are fetched again.
    /// After [`Refresh::wait_after`], or if no cached key matches, the token waits for the fetch.
    ///
    /// The first token triggers the first fetch; [`load`](Self::load) fetches the keys immediately. Redirects
    /// are not followed. Over plain `http`, an attacker on the network can replace the keys.
    ///
    /// # Errors
    /// When the URL is `https` and the feature `tls` or trusted root certificates are missing.
    pub fn url(url: Url) -> Result<Self, KeysError> {
        Self::url_with(url, Refresh::default())
    }

    /// Like [`url`](Self::url), with a custom [`Refresh`].
    ///
    /// # Errors
    /// As for [`url`](Self::url).
    pub fn url_with(url: Url, refresh: Refresh) -> Result<Self, KeysError> {
        Ok(Self(Inner::Read(Cache::new(Source::url(url, &refresh)?, refresh))))
    }

    /// Reads the file or fetches the URL. Tokens that need the keys wait for it.
    ///
    /// # Errors
    /// When reading or fetching fails. The cached keys remain in use, and the next token retries.
    ///
    /// # Cancel safety
    /// Reading the keys continues in the background.
    pub async fn load(&self) -> Result<(), KeysError> {
        match &self.0 {
            Inner::Fixed(_) => Ok(()),
            Inner::Read(cache) => cache.load().await,
        }
    }

    pub(super) fn claims(&self, token: &Token<'_>) -> Claims {
        match &self.0 {
            Inner::Fixed(keys) => {
                Claims::Ready(keys.verified_claims(token).map_err(|unverified| unverified.error))
            }
            Inner::Read(cache) => cache.claims(token),
        }
    }

    /// The JSON text of the claims, verified with the cached keys.
    pub(super) fn cached_claims(&self, token: &Token<'_>) -> Result<Vec<u8>, TokenError> {
        match &self.0 {
            Inner::Fixed(keys) => {
                keys.verified_claims(token).map_err(|unverified| unverified.error)
            }
            Inner::Read(cache) => cache.cached_claims(token),
        }
    }
}
