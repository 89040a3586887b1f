//! `trunkline serve` and `trunkline mcp`: the server.

mod access;
mod agent;
mod audit;
pub(crate) mod command_tools;
mod console;
mod database;
pub(crate) mod doctor;
mod gateway;
mod gauges;
mod history;
mod history_resources;
mod limits;
mod listener;
mod open_database;
mod operation_names;
mod readiness;
pub(crate) mod records;
mod reload;
mod roles;
mod rules;
pub(crate) mod serve;
mod service;
mod service_manager;
mod shared_state;
pub(crate) mod stdio;
mod summary;
mod tls;
