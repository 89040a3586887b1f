//! The tools, resources and prompts of other MCP servers ("upstreams") as operations of a service.
//!
//! A [`Gateway`] connects to each upstream, lists its tools, and registers them as [`DynamicOperations`]: the tool
//! `search` of the upstream `docs` is the method `docs.search`, and for language models the tool `docs__search`. All
//! protocols of the service can call it, with the same access rules, limits and history as any other operation. Results
//! are passed on unchanged. Resources keep their URIs; the names of prompts have the prefix, too. Progress, log messages and
//! questions of an upstream go to the caller in whose call it sends them.
//!
//! Each upstream has its own task, connection, deadlines and queue. One that hangs or fails does not affect the others:
//! calls of its tools fail, and it is connected again after a while.
//!
//! [`DynamicOperations`]: trunkline::DynamicOperations

#![forbid(unsafe_code)]
#![cfg(unix)]

mod approvals;
mod backoff;
mod caller;
mod config;
mod connection;
mod definition;
mod error;
mod filter;
mod gateway;
mod name;
mod offers;
mod operations;
mod running_call;
mod status;
mod subscriptions;
mod tools;
mod upstream;

pub use approvals::ApprovalsError;
pub use config::{
    CommandTarget, GatewayConfig, HttpTarget, InvalidTarget, Supervisor, Target, UpstreamConfig,
};
pub use error::UpstreamError;
pub use filter::ToolFilter;
pub use gateway::Gateway;
pub use name::{UpstreamName, UpstreamNameError};
pub use operations::management;
pub use status::{RejectedItem, UnapprovedTool, UpstreamState, UpstreamStatus};

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
