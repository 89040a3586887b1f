//! JSON Web Tokens (RFC 7519) that are signed, as bearer tokens. Feature `jwt`.
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
//! The keys are [given](Keys::fixed), in a [file](Keys::file), or at a [URL](Keys::url). A token has
//! to be signed with one of them, by an algorithm that the *key* is for. It has to expire (`exp`);
//! `nbf` and `iat` may not lie in the future; issuer and audience are those of [`JwtConfig`]. What a
//! header says of keys is not used, and one that names `crit` is refused.

mod algorithm;
mod claims;
mod jwk;
mod key;
mod key_set;
mod keys;
mod pem;
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
pub use token::TokenError;

use keys::Opened;
use token::Token;

/// Checks tokens. Cloning is cheap.
#[derive(Clone)]
pub struct Jwt(Arc<Inner>);

struct Inner {
    keys: Keys,
    settings: JwtConfig,
}

/// The principal of a token, or a future if keys have to be read first.
pub enum Checked {
    /// The result.
    Now(Result<Principal, TokenError>),
    /// The keys have to be fetched first.
    Later(Checking),
}

/// The check of a token whose keys have to be fetched first.
pub type Checking = Pin<Box<dyn Future<Output = Result<Principal, TokenError>> + Send>>;

impl Jwt {
    /// Tokens that are signed with one of these keys.
    #[must_use]
    pub fn new(keys: Keys, settings: JwtConfig) -> Self {
        Self(Arc::new(Inner { keys, settings }))
    }

    /// The principal of a token: its subject, with all of its claims. A token without a subject is
    /// [identified by its `jti`, or else by its digest](Principal::anonymous).
    ///
    /// The HTTP server calls it for each request. It is public for other protocols.
    ///
    /// # Errors
    /// When the token is not accepted.
    ///
    /// # Cancel safety
    /// A reading of keys continues in the background.
    pub async fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        match self.check(token.as_bytes()) {
            Checked::Now(checked) => checked,
            Checked::Later(checking) => checking.await,
        }
    }

    /// Checks a token.
    pub fn check(&self, text: &[u8]) -> Checked {
        let Inner { keys, settings } = &*self.0;
        let token = match Token::parse(text, settings.max_bytes) {
            Ok(token) => token,
            Err(error) => return Checked::Now(Err(error)),
        };
        match keys.open(&token) {
            Opened::Now(opened) => Checked::Now(
                opened.and_then(|claims| claims::check(text, &claims, settings, SystemTime::now())),
            ),
            Opened::After(reading) => {
                let (inner, text) = (Arc::clone(&self.0), text.to_vec());
                Checked::Later(Box::pin(async move {
                    // If it has failed, the keys of an earlier one may do.
                    drop(reading.ended().await);
                    let token = Token::parse(&text, inner.settings.max_bytes)?;
                    let claims = inner.keys.open_now(&token)?;
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
