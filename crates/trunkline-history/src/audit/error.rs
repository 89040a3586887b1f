use std::time::Duration;

/// The reason why an entry is not durable.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file cannot be written: the disk is full or fails, or the folder is missing.
    #[error("{0}")]
    Write(String),
    /// The entry was written, but could not be made durable.
    #[error("failed to sync the file: {0}")]
    Fsync(String),
    /// The file was not written in time. The entry may be written later.
    #[error("not written within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// Too many entries wait.
    #[error("too many entries wait to be written")]
    Full,
    /// The log is closed.
    #[error("the server is stopping")]
    Closed,
}
