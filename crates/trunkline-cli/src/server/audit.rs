//! `--audit-log`: the log of calls that change data.

use std::path::PathBuf;

use clap::Args;
use trunkline::layers::audit::{AuditConfig, AuditLog};

/// The flag of the audit log.
#[derive(Args)]
#[command(next_help_heading = "Audit")]
pub(crate) struct AuditArgs {
    /// Audit log of calls that change data
    ///
    /// Each such call has a line of JSON before it runs and one at its end, with caller, operation, database, digest of
    /// the params, changed rows and duration. Lines are durable before the reply. A call that cannot be logged is
    /// refused. The file can be renamed for rotation.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_AUDIT_LOG")]
    audit_log: Option<PathBuf>,
}

impl AuditArgs {
    /// Opens the log, if there is one.
    pub(crate) fn open(&self) -> anyhow::Result<Option<AuditLog>> {
        let log = self.audit_log.as_ref();
        Ok(log.map(|path| AuditLog::open(path, AuditConfig::default())).transpose()?)
    }
}
