//! Resources and native commands as operations: a command API and JSON-RPC 2.0 on one endpoint.

#![forbid(unsafe_code)]

mod command;
mod error;
mod settings;
mod store;
mod types;

pub use command::{Command, Metadata, Protocol, RecordId};
pub use error::{Error, OpenError, StorageError};
pub use settings::Settings;
