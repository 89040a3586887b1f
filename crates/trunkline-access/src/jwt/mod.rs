//! Signed JSON Web Tokens (RFC 7519) as bearer tokens. Feature `jwt`.
//!
//! ```
//! use trunkline::access::jwt::{Algorithm, Jwt, Key, Keys, JwtConfig};
//! use trunkline::http;
//! # use trunkline::Router;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let rpc = Router::new().method("ping", || "pong").build()?;
//! let key = Key::secret(Algorithm::Hs256, *b"a secret of at least 32 bytes...")?;
//! let settings =
//!     JwtConfig { audiences: vec!["https://api.example.com".into()], ..Default::default() };
//! let jwt = Jwt::new(Keys::fixed([key]), settings);
//! let service = rpc.http_with(http::HttpConfig { bearer: jwt.into(), ..Default::default() });
//! # Ok(())
//! # }
//! ```
//!
//! The keys are [fixed](Keys::fixed), read from a [file](Keys::file), or fetched from a [URL](Keys::url). A
//! token must be signed with one of them, using an algorithm of the *key*. `exp` is required; `nbf` and
//! `iat` must not be in the future; [`JwtConfig`] sets the accepted issuers and audiences. Keys in the
//! token's header are ignored, and a header with `crit` is refused.

mod algorithm;
mod claims;
mod jwk;
mod key;
mod key_set;
mod keys;
mod pem;
mod signing;
mod token;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use crate::Principal;

pub use algorithm::Algorithm;
pub use claims::JwtConfig;
pub use key::{Key, KeyError};
pub use key_set::KeySetError;
pub use keys::{Keys, KeysError, Refresh};
pub use signing::{SigningKey, SigningKeyError};
pub use token::TokenError;

use keys::Claims;
use token::Token;

/// A verifier of JSON Web Tokens. Cloning is cheap.
#[derive(Clone)]
pub struct Jwt(Arc<Inner>);

struct Inner {
    keys: Keys,
    settings: JwtConfig,
}

/// The result of [`Jwt::check`].
pub enum Verification {
    /// The result.
    Ready(Result<Principal, TokenError>),
    /// A future, because the keys must be read or fetched first.
    Pending(PendingVerification),
}

/// The verification of a token after its keys have been read or fetched.
pub type PendingVerification = Pin<Box<dyn Future<Output = Result<Principal, TokenError>> + Send>>;

impl Jwt {
    /// Creates a verifier of tokens signed with one of these keys.
    #[must_use]
    pub fn new(keys: Keys, settings: JwtConfig) -> Self {
        Self(Arc::new(Inner { keys, settings }))
    }

    /// The principal of a token: its subject, with all of its claims. A token without a subject is
    /// [identified by its `jti` or its digest](Principal::anonymous).
    ///
    /// The HTTP server calls this for each request. It is public for other protocols.
    ///
    /// # Errors
    /// When the token is not accepted.
    ///
    /// # Cancel safety
    /// Reading the keys continues in the background.
    pub async fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        match self.check(token.as_bytes()) {
            Verification::Ready(result) => result,
            Verification::Pending(pending) => pending.await,
        }
    }

    /// Verifies a token, without waiting if the keys are cached.
    pub fn check(&self, text: &[u8]) -> Verification {
        let Inner { keys, settings } = &*self.0;
        let token = match Token::parse(text, settings.max_bytes) {
            Ok(token) => token,
            Err(error) => return Verification::Ready(Err(error)),
        };
        match keys.claims(&token) {
            Claims::Ready(claims) => Verification::Ready(
                claims.and_then(|claims| claims::check(text, &claims, settings, SystemTime::now())),
            ),
            Claims::After(load) => {
                let (inner, text) = (Arc::clone(&self.0), text.to_vec());
                Verification::Pending(Box::pin(async move {
                    // After a failure, the keys that were read earlier may still verify the token.
                    drop(load.result().await);
                    let token = Token::parse(&text, inner.settings.max_bytes)?;
                    let claims = inner.keys.cached_claims(&token)?;
                    claims::check(&text, &claims, &inner.settings, SystemTime::now())
                }))
            }
        }
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
