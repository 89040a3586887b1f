//! A web console for services: operations, databases, records, history, tools and the agent.
//!
//! [`routes`] returns its pages at `/console`. The console calls the registered operations of a service as its user,
//! through the dispatch path of all protocols, so that access rules, validation, limits, history and metrics apply.
//!
//! Pages are HTML that is rendered on the server. They need no network, and their policy allows only scripts, styles
//! and connections of the same origin. Every value is escaped by the templates.

#![forbid(unsafe_code)]

mod assets;
mod chart;
mod config;
mod console;
mod diagram;
mod form;
mod json;
mod pages;
mod schema_form;
mod sessions;
mod sign_ins;
mod snippets;
mod table;
mod text;

pub use config::{ConsoleConfig, ConsoleDatabase, HistoryAccess};
pub use pages::{data_routes, routes, sessions};
pub use sessions::Sessions;

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
