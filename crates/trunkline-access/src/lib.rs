//! Authentication of callers: bearer tokens, principals and claims.
//!
//! An endpoint authenticates the caller by a [listed](Tokens) token or by a [signed](mod@jwt) one. The
//! result is a [`Principal`]. Handlers extract the principal or its [`Claims`];
//! `trunkline::layers::authorize` accepts or refuses calls based on it. A [`ProtectedResource`] describes a service to
//! OAuth clients.

#![forbid(unsafe_code)]

mod claims;
#[cfg(feature = "jwt")]
pub mod jwt;
mod policy_snapshot;
mod principal;
mod resource;
mod scopes;
mod tokens;

pub use claims::Claims;
pub use policy_snapshot::PolicySnapshot;
pub use principal::{Identity, Principal};
pub use resource::{ProtectedResource, ResourceUrl, ResourceUrlError};
pub use scopes::{ScopeHierarchy, Scopes};
pub use tokens::Tokens;

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
