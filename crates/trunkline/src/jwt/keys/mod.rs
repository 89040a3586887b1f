//! Where keys come from, and how long they are kept.

mod cache;
mod reading;
mod refresh;
mod source;

use std::path::PathBuf;
use std::sync::Arc;

pub use refresh::Refresh;
pub use source::KeysError;

use super::error::TokenError;
use super::key::Key;
use super::key_set::{KeySet, KeySetError};
use super::token::Token;
use crate::client::http::Url;
use cache::Cache;
pub(super) use cache::Opened;
use source::Source;

/// The keys that tokens may be signed with: given, in a file, or at a URL. Cloning is cheap; clones
/// share what has been read.
#[derive(Debug, Clone)]
pub struct Keys(Inner);

#[derive(Debug, Clone)]
enum Inner {
    Fixed(Arc<KeySet>),
    Read(Arc<Cache>),
}

impl Keys {
    /// These keys, for ever.
    pub fn fixed(keys: impl IntoIterator<Item = Key>) -> Self {
        Self(Inner::Fixed(Arc::new(KeySet::new(keys))))
    }

    /// The keys of a JSON Web Key Set, for ever. Those that cannot check signatures are left out.
    ///
    /// # Errors
    /// When it is no such set, or no key of it can be used.
    pub fn jwks(json: &str) -> Result<Self, KeySetError> {
        Ok(Self(Inner::Fixed(Arc::new(KeySet::parse(json.as_bytes())?))))
    }

    /// The keys of a JSON Web Key Set in a file. A token that comes 4 s after the last reading, or
    /// that no key at hand fits, has it read again before it is checked, at most once a second. So a
    /// changed file is used within 4 s, however seldom tokens come. A file that cannot be read, or is
    /// no such set, is logged, and the keys at hand stay.
    ///
    /// Nothing is read before the first token: [`load`](Self::load) tells now whether it can be.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(Inner::Read(Cache::new(Source::File(path), Refresh::of_files())))
    }

    /// The keys of a JSON Web Key Set at a URL, with the default [`Refresh`]. Secrets in it, for
    /// HS256 and its like, are left out: whoever can fetch them can sign.
    ///
    /// A token that comes after [`Refresh::after`] has them fetched while it is checked with those at
    /// hand; one that comes after [`Refresh::wait_after`], or that no key at hand fits, waits for it.
    ///
    /// Nothing is fetched before the first token: [`load`](Self::load) tells now whether it can be.
    /// Redirects are not followed. Over plain `http`, whoever is on the way can replace the keys.
    ///
    /// # Errors
    /// When it is an `https` URL, and there is no TLS (feature `tls`), or nobody to trust.
    pub fn url(url: Url) -> Result<Self, KeysError> {
        Self::url_with(url, Refresh::default())
    }

    /// The same, fetched as `refresh` says.
    ///
    /// # Errors
    /// As for [`url`](Self::url).
    pub fn url_with(url: Url, refresh: Refresh) -> Result<Self, KeysError> {
        Ok(Self(Inner::Read(Cache::new(Source::url(url, &refresh)?, refresh))))
    }

    /// Reads the file, or fetches from the URL, now. Tokens that need the keys wait for it.
    ///
    /// # Errors
    /// When that fails. The keys at hand stay, and reading is tried again when a token comes.
    ///
    /// # Cancel safety
    /// Nothing is lost: keys that are being read are read to the end.
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

    /// The claims' JSON text, by the keys that are there.
    pub(super) fn open_now(&self, token: &Token<'_>) -> Result<Vec<u8>, TokenError> {
        match &self.0 {
            Inner::Fixed(keys) => keys.open(token).map_err(|unopened| unopened.error),
            Inner::Read(cache) => cache.open_now(token),
        }
    }
}
