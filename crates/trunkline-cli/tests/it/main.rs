//! The `trunkline` binary as its users have it: a process, its terminal and its socket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod agent;
mod authorization;
mod call;
mod call_hostile;
mod call_peer;
mod call_tls;
mod chat;
mod chat_terminal;
mod command_tools;
mod config_file;
mod configuration;
mod databases;
mod degraded;
mod destructive;
mod edn;
mod edn_endpoints;
mod endpoints;
mod execute;
mod gateway;
mod history;
mod history_secrets;
mod hostile;
mod mcp;
mod mcp_client;
mod mcp_offers;
mod mcp_terminal;
mod memory;
mod monitor;
mod names;
mod openrpc;
mod operations;
mod pages;
mod postgres;
#[path = "../../../trunkline-postgres/tests/server/mod.rs"]
mod postgres_server;
mod refused_start;
mod replaced;
mod resource_changes;
mod resource_types;
mod resources;
mod resources_access;
mod resources_refused;
mod runaway;
mod schemas;
mod signals;
mod start;
mod storage_fault;
mod support;
mod tables_terminal;
mod tool;
mod tools;
mod tools_eras;
