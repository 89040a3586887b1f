//! Who calls, and what they may do: tokens, principals, claims.
//!
//! A door finds out who calls: by a token that is [listed](Tokens), or by one that is
//! [signed](jwt). The [`Principal`] is the result. Handlers take it as an extractor, or its
//! [`Claims`]; [`layers::authorize`](crate::layers::authorize) refuses calls by it.

mod claims;
mod principal;
mod tokens;

pub use claims::Claims;
#[cfg(feature = "jwt")]
pub mod jwt {
    //! JSON Web Tokens (RFC 7519) that are signed, as bearer tokens. Feature `jwt`.
    //!
    //! ```
    //! use trunkline::access::jwt::{Algorithm, Jwt, Key, Keys, Settings};
    //! use trunkline::http;
    //! # use trunkline::Router;
    //!
    //! # fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! # let rpc = Router::new().method("ping", || "pong").build()?;
    //! let key = Key::secret(Algorithm::Hs256, *b"a secret of at least 32 bytes...")?;
    //! let settings =
    //!     Settings { audiences: vec!["https://api.example.com".into()], ..Default::default() };
    //! let jwt = Jwt::new(Keys::fixed([key]), settings);
    //! let service = rpc.http_with(http::Settings { jwt: Some(jwt), ..Default::default() });
    //! # Ok(())
    //! # }
    //! ```
    //!
    //! The keys are [given](Keys::fixed), in a [file](Keys::file), or at a [URL](Keys::url). A token has
    //! to be signed with one of them, by an algorithm that the *key* is for. It has to expire (`exp`);
    //! `nbf` and `iat` may not lie in the future; issuer and audience are those of [`Settings`]. What a
    //! header says of keys is not used, and one that names `crit` is refused.

    #[doc(inline)]
    pub use crate::jwt::*;
}
pub(crate) use principal::Identity;
pub use principal::Principal;
pub use tokens::Tokens;
