//! Authorization of calls by rules.
//!
//! ```
//! # fn main() -> Result<(), trunkline::BuildError> {
//! use trunkline::Router;
//! use trunkline::layers::authorize::{Rules, claim, scope};
//!
//! let rules = Rules::new()
//!     .require("admin.*", claim("role", "admin"))
//!     .require("billing.*", scope("billing").or(claim("role", "admin")));
//! let rpc = Router::new()
//!     .method("admin.stop", || "stopped")
//!     .method("billing.total", || 42)
//!     .method("ping", || "pong")
//!     .authorize(rules)
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Rules`] apply to all methods of a router. They are checked before all other work for a call, except for rate limits
//! ([`Router::rate_limit`](crate::Router::rate_limit)): a refused caller causes no validation, and runs no layer.
//!
//! An operation can declare the scopes that its callers need:
//!
//! ```
//! use trunkline::layers::authorize::ScopedOperation;
//! use trunkline::{Operation, Router};
//!
//! let delete = Operation::new("files.delete", || "deleted").scopes(["files:write"]);
//! let router: Router = Router::new().operation(delete);
//! ```

mod admission;
mod requirement;
mod role;
mod rules;

pub(crate) use admission::{AdmissionLayer, Guard};
pub use admission::{can_be_restricted, is_restricted, is_visible_to};
pub use requirement::{Requirement, authenticated, claim, principal, scope, signed, subject};
pub use role::{PermittedDatabases, Role};
pub use rules::{DefaultScopes, Rules, ScopedOperation, SharedRules, declared_scopes};
