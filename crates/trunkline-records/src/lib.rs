//! Records and native commands as operations: a command API and JSON-RPC 2.0 on one endpoint.
//!
//! [`Records`] stores records, whose types are declared in a TOML file, in a dedicated SQLite database.
//! [`operations`] registers their operations, which can be called over every protocol;
//! [`routes`] returns the HTTP routes of native commands, `POST /execute`, which accepts JSON-RPC 2.0 on the same path.
//!
//! ```
//! use trunkline::Router;
//! use trunkline::http::HttpConfig;
//! use trunkline_records::{RecordTypes, Records, operations, routes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let records = Records::open(directory.path(), RecordTypes::default(), Default::default())?;
//! let rpc = Router::new().merge(operations(&records, |_| false)).build()?;
//! let service = rpc.http_with(HttpConfig::default()).merge(routes(&rpc, &records));
//! # Ok(())
//! # }
//! ```
//!
//! The service then accepts `{"command": "create", "resource": "todo", "payload": {"title": "tea"}}` as well as
//! `{"jsonrpc": "2.0", "method": "todo.create", "params": {"title": "tea"}, "id": 1}`.
//!
//! A service with existing commands needs only the [`adapter`]. Without the default feature `records`, the crate
//! consists of the adapter and does not depend on SQLite.

#![forbid(unsafe_code)]

pub mod adapter;
mod command;
#[cfg(feature = "records")]
mod config;
#[cfg(feature = "records")]
mod declaration;
#[cfg(feature = "records")]
mod error;
mod excerpt;
#[cfg(feature = "records")]
mod operations;
#[cfg(feature = "records")]
mod record;
#[cfg(feature = "records")]
mod records;
#[cfg(feature = "records")]
mod routes;
#[cfg(feature = "records")]
mod store;

pub use command::{Command, Metadata, Protocol, RecordId, RequestId};
#[cfg(feature = "records")]
pub use config::RecordsConfig;
#[cfg(feature = "records")]
pub use declaration::{Field, FieldType, RecordType, RecordTypes, TypesError, Verb};
#[cfg(feature = "records")]
pub use error::Error;
#[cfg(feature = "mcp")]
pub use operations::notify_subscribers;
#[cfg(feature = "records")]
pub use operations::operations;
#[cfg(feature = "records")]
pub use records::{Caller, Context, Mode, RecordChange, Records};
#[cfg(feature = "records")]
pub use routes::routes;
#[cfg(feature = "records")]
pub use trunkline_storage::{Location, OpenError, StoreConfig, StoreError};

#[cfg(all(doctest, feature = "records"))]
#[doc = include_str!("../../../docs/guides/records.md")]
struct Page;

#[cfg(all(doctest, feature = "records"))]
#[doc = include_str!("../README.md")]
struct Readme;
