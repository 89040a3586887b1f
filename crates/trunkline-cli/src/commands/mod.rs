//! The commands besides those that serve, one module each.

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod config;
mod connection;
pub(crate) mod database;
pub(crate) mod edn;
pub(crate) mod execute;
pub(crate) mod health;
pub(crate) mod logout;
mod mcp;
pub(crate) mod monitor;
pub(crate) mod openrpc;
pub(crate) mod prompts;
pub(crate) mod records;
pub(crate) mod resources;
pub(crate) mod tools;
