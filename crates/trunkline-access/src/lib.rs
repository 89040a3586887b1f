//! Who calls, and what they may do: tokens, principals, claims.
//!
//! A door finds out who calls: by a token that is [listed](Tokens), or by one that is
//! [signed](mod@jwt). The [`Principal`] is the result. Handlers take it as an extractor, or its
//! [`Claims`]; `trunkline::layers::authorize` refuses calls by it.

#![forbid(unsafe_code)]

mod claims;
#[cfg(feature = "jwt")]
pub mod jwt;
mod principal;
mod tokens;

pub use claims::Claims;
pub use principal::{Identity, Principal};
pub use tokens::Tokens;
