//! Resources and native commands as operations: a command API and JSON-RPC 2.0 on one endpoint.
//!
//! [`Resources`] stores records, whose types are declared in a TOML file, in a dedicated SQLite database.
//! [`operations`] registers their operations, which can be called over every protocol;
//! [`routes`] returns the HTTP routes of native commands, `POST /execute`, which accepts JSON-RPC 2.0 on the same path.
//!
//! ```
//! use trunkline::Router;
//! use trunkline::http::HttpConfig;
//! use trunkline_resources::{ResourceTypes, Resources, operations, routes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let resources = Resources::open(directory.path(), ResourceTypes::default(), Default::default())?;
//! let rpc = Router::new().merge(operations(&resources, |_| false)).build()?;
//! let service = rpc.http_with(HttpConfig::default()).merge(routes(&rpc, &resources));
//! # Ok(())
//! # }
//! ```
//!
//! The service then accepts `{"command": "create", "resource": "todo", "payload": {"title": "tea"}}` as well as
//! `{"jsonrpc": "2.0", "method": "todo.create", "params": {"title": "tea"}, "id": 1}`.
//!
//! A service with existing commands needs only the [`adapter`]. Without the default feature `resources`, the crate
//! consists of the adapter and does not depend on SQLite.

#![forbid(unsafe_code)]

pub mod adapter;
mod command;
#[cfg(feature = "resources")]
mod config;
#[cfg(feature = "resources")]
mod declaration;
#[cfg(feature = "resources")]
mod error;
mod excerpt;
#[cfg(feature = "resources")]
mod operations;
#[cfg(feature = "resources")]
mod record;
#[cfg(feature = "resources")]
mod resources;
#[cfg(feature = "resources")]
mod routes;
#[cfg(feature = "resources")]
mod store;

pub use command::{Command, Metadata, Protocol, RecordId, RequestId};
#[cfg(feature = "resources")]
pub use config::ResourcesConfig;
#[cfg(feature = "resources")]
pub use declaration::{Field, FieldType, ResourceType, ResourceTypes, TypesError, Verb};
#[cfg(feature = "resources")]
pub use error::Error;
#[cfg(feature = "mcp")]
pub use operations::notify_subscribers;
#[cfg(feature = "resources")]
pub use operations::operations;
#[cfg(feature = "resources")]
pub use resources::{Caller, Context, Mode, RecordChange, Resources};
#[cfg(feature = "resources")]
pub use routes::routes;
#[cfg(feature = "resources")]
pub use trunkline_storage::{Location, OpenError, StoreConfig, StoreError};

#[cfg(all(doctest, feature = "resources"))]
#[doc = include_str!("../../../docs/guides/records.md")]
struct Page;

#[cfg(all(doctest, feature = "resources"))]
#[doc = include_str!("../README.md")]
struct Readme;
