//! An audit log of calls that change data.
//!
//! [`AuditLayer`] writes an entry before and after each call whose [effect](crate::Call::effect) is not read-only, over
//! every protocol. A call whose first entry cannot be written is refused with -32014. The
//! [log](trunkline_history::audit::AuditLog) makes entries durable before a call runs and before its reply is sent.

#[cfg(feature = "audit")]
mod layer;

use std::sync::Arc;

use trunkline_core::operation::Operation;

#[cfg(feature = "audit")]
pub use layer::{Audit, AuditLayer};
pub use trunkline_history::audit::{AuditConfig, AuditError, AuditLog, OpenError};

/// The database of calls that do not name one.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "audit"), expect(dead_code, reason = "only the layer reads the name"))]
struct DefaultDatabase(Arc<str>);

/// Names the database of an operation in the audit log.
pub trait DatabaseOperation: Sized {
    /// Sets the database of calls without the param `database`.
    #[must_use]
    fn default_database(self, name: &str) -> Self;
}

impl<S> DatabaseOperation for Operation<S> {
    fn default_database(self, name: &str) -> Self {
        self.extension(DefaultDatabase(name.into()))
    }
}
