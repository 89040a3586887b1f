//! Bearer tokens of upstreams in files.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use trunkline_mcp::client::{Authorization, AuthorizationError, Challenge};

use super::secret::SecretFile;

/// A token that is read from its file again when the server refuses it.
#[derive(Clone)]
pub(super) struct TokenFile(Arc<Inner>);

struct Inner {
    file: SecretFile,
    token: Mutex<String>,
}

impl TokenFile {
    pub(super) fn new(file: SecretFile, token: String) -> Self {
        Self(Arc::new(Inner { file, token: Mutex::new(token) }))
    }
}

impl Inner {
    fn token(&self) -> String {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the file. Returns whether it has another token than the refused one. Blocks.
    fn has_changed(&self, refused: Option<&str>) -> bool {
        match self.file.read() {
            Ok(token) => {
                let has_changed = refused != Some(&*token);
                *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
                has_changed
            }
            Err(error) => {
                tracing::warn!(error, "cannot read the token of an upstream again");
                false
            }
        }
    }
}

impl Authorization for TokenFile {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>> {
        std::future::ready(Ok(Some(self.0.token()))).boxed()
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>> {
        let inner = Arc::clone(&self.0);
        let read = move || inner.has_changed(challenge.token.as_deref());
        let read = tokio::task::spawn_blocking(read);
        // It fails only when the runtime stops.
        async move { Ok(read.await.unwrap_or(false)) }.boxed()
    }
}
