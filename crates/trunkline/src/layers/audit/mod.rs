//! An audit log of calls that change data.
//!
//! [`Router::audit`](crate::Router::audit) writes an entry before and after each call whose
//! [effect](crate::Call::effect) is not read-only, over every protocol. A call whose first entry cannot be written is
//! refused with -32014. The [log](trunkline_history::audit::AuditLog) makes entries durable before a call runs and before
//! its reply is sent. A call that access rules refuse has one entry.

#[cfg(feature = "audit")]
mod layer;

pub use super::call_database::DatabaseOperation;
#[cfg(feature = "audit")]
pub(crate) use layer::AuditLayer;
pub use trunkline_history::audit::{AuditConfig, AuditError, AuditLog, OpenError};
